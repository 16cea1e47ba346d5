// Handles the organisation's policy documents as one set, which can be exported, kept as a file, and applied again.
// Members' own parts are not included. A section that is present describes all documents of its layer: a document that
// the section leaves out is removed. `{}` and null mean that a document is not set.
import { childPath, type DocumentId, isRole, type Layer, parseAgentType, roles, tiers, uidProblem } from '@tollgate/proto/contract';
import { caseCountProblem, countCases } from './document-cases.ts';
import { checkDocument, type PolicyDocument, type StoredDocument } from './policy-document.ts';
import { type Checked, isObject, problem, type Problem } from '@tollgate/proto/shape';

type Documents = Readonly<Record<string, PolicyDocument>>;

/**
 * A set in the form in which it is exported. A set that is sent to be applied may lack sections, and may contain null
 * for a document.
 */
export interface PolicySet {
  readonly workspacePolicy: PolicyDocument;
  readonly rolePolicies: Documents;
  readonly agentTypePolicies: Documents;
  /** Only the organisation's parts. */
  readonly userPolicies: Documents;
}

/** The wanted state of the documents of some layers. */
export interface WantedDocuments {
  /** The layers of these documents. Documents of other layers do not change. */
  readonly layers: readonly Layer[];
  /** All documents that these layers must have. */
  readonly documents: readonly StoredDocument[];
}

interface Section {
  readonly name: 'rolePolicies' | 'agentTypePolicies' | 'userPolicies';
  readonly layer: Layer;
  /**
   * Returns the id of the document that the key names. If the key names no document, returns a text that says what is
   * wrong with the key.
   */
  readonly idOf: (key: string) => DocumentId | string;
}

const sections: readonly Section[] = [
  {
    name: 'rolePolicies',
    layer: 'role',
    idOf: (role) => (isRole(role) ? { layer: 'role', role } : `must be one of ${roles.join(', ')}`),
  },
  {
    name: 'agentTypePolicies',
    layer: 'agent-type',
    idOf: (agentType) =>
      parseAgentType(agentType) === null
        ? `must be <client>::<tier>::<name>, with a tier of ${tiers.join(', ')}`
        : { layer: 'agent-type', agentType },
  },
  {
    name: 'userPolicies',
    layer: 'user',
    idOf: (uid) => uidProblem(uid) ?? { layer: 'user', uid, part: 'organisation' },
  },
];
const sectionNames = ['workspacePolicy', ...sections.map(({ name }) => name)];

/** Other permitted fields. `revision` is accepted so that an export can be sent back unchanged. */
const others = ['revision', 'dryRun'];

export function policySetOf(stored: readonly StoredDocument[]): PolicySet {
  const documents = stored.filter(isOfSet);
  const of = (layer: Layer): Documents =>
    Object.fromEntries(documents.filter(({ id }) => id.layer === layer).map(({ id, document }) => [nameOf(id), document]));
  return {
    workspacePolicy: documents.find(({ id }) => id.layer === 'workspace')?.document ?? {},
    rolePolicies: of('role'),
    agentTypePolicies: of('agent-type'),
    userPolicies: of('user'),
  };
}

/** Parses a policy set. Returns the documents to apply, or every problem of every document with its place. */
export function parsePolicySet(body: Readonly<Record<string, unknown>>): Checked<WantedDocuments & { readonly dryRun: boolean }> {
  const { workspacePolicy, revision, dryRun = false } = body;
  // Conditions take long to read, so the cases of the whole set are counted first.
  const tooMany = caseCountProblem(countCases(documentsIn(body)));
  if (tooMany !== null) return { problems: problem('body', tooMany) };
  const unknownSections = Object.keys(body).filter((name) => !sectionNames.includes(name) && !others.includes(name));
  const parsed = [
    ...(workspacePolicy === undefined
      ? []
      : [{ layer: 'workspace' as const, ...parseDocument({ layer: 'workspace' }, workspacePolicy, 'workspacePolicy') }]),
    ...sections.flatMap((section) => (Object.hasOwn(body, section.name) ? [parseSection(section, body[section.name])] : [])),
  ];
  const problems = [
    ...unknownSections.flatMap((name) => problem(childPath('', name), `is not a section; the sections are ${sectionNames.join(', ')}`)),
    ...(typeof dryRun === 'boolean' ? [] : problem('dryRun', 'must be true or false')),
    ...(revision === undefined || Number.isInteger(revision) ? [] : problem('revision', 'must be an integer, as in the export')),
    ...parsed.flatMap((section) => section.problems),
  ];
  if (problems.length > 0) return { problems };
  return {
    value: {
      layers: parsed.map(({ layer }) => layer),
      documents: parsed.flatMap(({ documents }) => documents),
      dryRun: dryRun === true,
    },
  };
}

interface ParsedDocuments {
  readonly problems: readonly Problem[];
  readonly documents: readonly StoredDocument[];
}

/** Returns everything in a body that stands where a document is expected. */
export const documentsIn = ({ workspacePolicy, ...body }: Readonly<Record<string, unknown>>): readonly unknown[] => [
  workspacePolicy,
  ...sections.flatMap(({ name }) => (isObject(body[name]) ? Object.values(body[name]) : [])),
];

function parseSection({ name, layer, idOf }: Section, value: unknown): ParsedDocuments & { readonly layer: Layer } {
  if (!isObject(value)) return { layer, problems: problem(name, 'must be an object whose values are policy documents'), documents: [] };
  const parsed = Object.entries(value).map(([key, document]) => {
    const id = idOf(key);
    const place = childPath(name, key);
    return typeof id === 'string'
      ? { problems: problem(place, `is not a valid key here: the key ${id}`), documents: [] }
      : parseDocument(id, document, place);
  });
  return { layer, problems: parsed.flatMap(({ problems }) => problems), documents: parsed.flatMap(({ documents }) => documents) };
}

function parseDocument(id: DocumentId, value: unknown, place: string): ParsedDocuments {
  if (value === null) return { problems: [], documents: [] };
  const problems = checkDocument(id.layer, 'organisation', value, place);
  if (problems.length > 0 || !isObject(value)) return { problems, documents: [] };
  return { problems, documents: isSet(value) ? [{ id, document: value }] : [] };
}

/**
 * Returns the problems that stored documents have now, each with its place in the set. When these documents were
 * written, they were valid.
 */
export function checkDocuments(documents: readonly StoredDocument[]): readonly Problem[] {
  return documents.flatMap(({ id, document }) => checkDocument(id.layer, 'organisation', document, placeOf(id)));
}

/** Whether a document is set. An empty document is equal to no document. */
const isSet = (document: object): boolean => Object.keys(document).length > 0;

/** Whether the document belongs to a set. This is so if it is a document of the organisation and is not empty. */
export const isOfSet = ({ id, document }: StoredDocument): boolean => isSet(document) && !(id.layer === 'user' && id.part === 'self');

function nameOf(id: DocumentId): string {
  switch (id.layer) {
    case 'workspace':
      return '';
    case 'role':
      return id.role;
    case 'agent-type':
      return id.agentType;
    case 'user':
      return id.uid;
  }
}

function placeOf(id: DocumentId): string {
  const section = sections.find(({ layer }) => layer === id.layer);
  return section === undefined ? 'workspacePolicy' : childPath(section.name, nameOf(id));
}
