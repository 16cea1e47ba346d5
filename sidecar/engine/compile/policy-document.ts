// Defines what a policy document can contain. Every write passes `checkDocument` after the merge. The compiler and
// every sidecar can process everything that passes.
import {
  bounds,
  capBounds,
  type CompiledCase,
  conditionBounds,
  type DocumentId,
  nameProblem,
  type Part,
  parseAgentType,
  reasonProblem,
  type Rule,
  tiers,
} from '@tollgate/proto/contract';
import { type AskDocument, askShape, selfAskShape, strayAsk } from './ask.ts';
import { checkConditions } from './document-cases.ts';
import { type RedactionDocument, redactionSection } from './redaction.ts';
import { type ToolNamesDocument, toolNamesSection } from './tool-names.ts';
import {
  described,
  entries,
  fields,
  integer,
  type JsonSchema,
  list,
  oneOf,
  problem,
  record,
  type Problem,
  type Shape,
  text,
} from '@tollgate/proto/shape';

/** A rule as it is written. */
export interface RuleDocument extends Omit<Rule, 'cases' | 'ask'> {
  /** Only with `permission: "ask"`. Absent: the defaults. */
  readonly ask?: AskDocument;
  readonly cases?: readonly CaseDocument[];
}

/** A case as it is written: the condition is a text. */
export interface CaseDocument extends Omit<CompiledCase, 'when' | 'ask'> {
  /** Only with `permission: "ask"`. Absent: the defaults. */
  readonly ask?: AskDocument;
  readonly when: string;
}

/** Rules by tier. Other keys are accepted and returned, but have no effect. */
export type TierRulesDocument = Readonly<Record<string, RuleDocument>>;

/** A policy document as stored and returned: the merged content of the writes. */
export interface PolicyDocument {
  readonly mode?: 'enforce' | 'audit' | 'audit-only';
  readonly defaults?: TierRulesDocument;
  readonly tools?: Readonly<Record<string, TierRulesDocument>>;
  /** Only in user documents. */
  readonly agentTypes?: Readonly<Record<string, TierRulesDocument>>;
  /** This field and all fields below are only in the workspace document. */
  readonly unknownAgents?: 'allow' | 'deny';
  readonly auditUnavailable?: 'allow' | 'deny';
  readonly outage?: {
    readonly maxStalenessSeconds?: number;
    readonly then?: Readonly<Record<string, 'deny' | 'last_known'>>;
    readonly caps?: 'count' | 'deny';
  };
  readonly redaction?: RedactionDocument;
  readonly toolNames?: ToolNamesDocument;
  readonly toolDefinitions?: 'any' | 'pinned';
  readonly agentCeiling?: AgentCeiling;
}

/**
 * Limits what a member can set in an agent. A field that is absent sets no limit. There are two exceptions. Without
 * `scopes`, a member cannot give an agent a scope that the agent did not have before. Without `canDelegate`, a member
 * cannot permit an agent to delegate if the agent was not permitted before.
 */
export interface AgentCeiling {
  /** Tool names, as in an agent: a final `*` matches all names with that prefix. */
  readonly enabledTools?: readonly string[];
  readonly scopes?: readonly string[];
  readonly canDelegate?: boolean;
  readonly maxToolCalls?: number;
  readonly maxBudgetCents?: number;
}

export interface StoredDocument {
  readonly id: DocumentId;
  readonly document: PolicyDocument;
}

export type DocumentKind = 'workspace' | 'role' | 'agent-type' | 'user';

const rateLimit = described('calls in any window; 0 allows none', integer(0, 2_147_483_647));
const transform = oneOf('log', 'redact');
const permission = described('`ask`: a person decides', oneOf('allow', 'deny', 'ask'));

/** Returns the shape of a rule or case, in which `ask` needs `permission: "ask"`. */
const asking = ({ check, schema }: Shape): Shape => ({
  check: (value, path) => [...check(value, path), ...strayAsk(value, path)],
  schema,
});

const rule = (part: Part): Shape => asking(ruleFields(part));

const ruleFields = (part: Part): Shape =>
  fields({
    permission,
    ask: part === 'self' ? selfAskShape : askShape,
    rateLimit,
    transform,
    // Members cannot make exceptions for themselves.
    override: part === 'self' ? forLeads('members cannot make an exception for themselves') : oneOf(true),
    cases: part === 'self' ? forLeads('rules of members have no cases') : cases,
  });

const forLeads = (why: string): Shape => ({
  check: (_value, path) => problem(path, `may only be set by owners and admins; ${why}`),
  schema: { not: {} },
});

// Characters that cannot be seen could make a condition look like another one. Some of them cannot be stored.
const unseen = /[^\P{Cc}\t\n\r]|[\p{Cf}\p{Cs}]/u;

// `checkConditions` reads the condition.
const when: Shape = {
  check: (value, path) => {
    if (typeof value !== 'string') return problem(path, 'must be a text: a condition in CEL');
    return unseen.test(value) ? problem(path, 'must hold no control or format character; write it as \\u and four hex digits') : [];
  },
  schema: { type: 'string', minLength: 1, maxLength: conditionBounds.sourceBytes },
};

const caseName: Shape = {
  ...text(conditionBounds.nameLength, nameProblem),
  schema: { type: 'string', minLength: 1, maxLength: conditionBounds.nameLength },
};
const reason = text(conditionBounds.reasonLength, reasonProblem);

const oneCase = asking(
  record(
    {
      name: caseName,
      when: described('a condition in CEL (docs/reference/conditions.md)', when),
      permission,
      ask: askShape,
      rateLimit: described('counted in addition to that of the rule', rateLimit),
      transform,
      reason: described('told to the agent if the case denies or asks', reason),
    },
    ['name', 'when'],
  ),
);
/** The schema of a case. The schemas of `documentSchema` contain this same object. */
export const caseSchema: JsonSchema = oneCase.schema;
const caseList = list(conditionBounds.casesInRule, oneCase);

const cases: Shape = described('the first case whose condition holds replaces fields of the rule', {
  check: (value, path) => {
    const wrong = caseList.check(value, path);
    if (wrong.length > 0 || !Array.isArray(value)) return wrong;
    if (value.length === 0) return problem(path, 'must have at least one case; remove the field with null');
    const names = value.map(({ name }) => name);
    return names.flatMap((name, at) =>
      names.indexOf(name) === at
        ? []
        : problem(
            `${path}[${at}].name`,
            `must be unique in the rule, but ${JSON.stringify(name)} is already the name of case ${names.indexOf(name)}`,
          ),
    );
  },
  schema: {
    ...caseList.schema,
    minItems: 1,
    examples: [[{ name: 'large', when: 'args.amount > 1000', permission: 'deny', reason: "over 1000: use the bank's own form" }]],
  },
});

const nameSchema = { type: 'string', minLength: 1, maxLength: bounds.nameLength };
/** The schema of an agent-type key. What it cannot express, `parseAgentType` refuses. */
export const agentTypeKeySchema: JsonSchema = {
  type: 'string',
  description: '<client>::<tier>::<name>; the name may be empty',
  pattern: `^(?:(?!::).)+::(?:${tiers.join('|')})::`,
  examples: ['claude-code::interactive::triage', 'hook::api::'],
};

const agentTypeKey = {
  problem: (key: string) => (parseAgentType(key) === null ? `must be <client>::<tier>::<name> with a tier of ${tiers.join(', ')}` : null),
  schema: agentTypeKeySchema,
  max: bounds.toolKeysInDocument,
  inBrackets: true as const,
};

const tierRules = (part: Part): Shape =>
  described(
    `by tier (${tiers.join(', ')}); other keys are stored and returned, and have no effect`,
    entries({ problem: nameProblem, schema: nameSchema, max: 64 }, rule(part)),
  );

const toolDefinitions = described(
  'pinned: an MCP tool is called only if its definition was admitted; absent: definitions need not be admitted',
  oneOf('any', 'pinned'),
);

const staleness = integer(3, 31_536_000);
const outage = fields({
  maxStalenessSeconds: {
    check: (value, path) =>
      value === 0 || staleness.check(value, path).length === 0 ? [] : problem(path, 'must be 0, or an integer from 3 to 31536000'),
    schema: { anyOf: [{ const: 0 }, staleness.schema] },
  },
  then: fields(Object.fromEntries(tiers.map((tier) => [tier, oneOf('deny', 'last_known')]))),
  caps: described(
    'calls of a session that is new to a sidecar while the control plane cannot be asked how much of its `maxToolCalls` is left: counted by that sidecar alone, or denied',
    oneOf('count', 'deny'),
  ),
});

const listedName: Shape = { check: text(bounds.nameLength, nameProblem).check, schema: nameSchema };
const agentCeiling = described(
  'what members may set on agents; absent: no scopes and no delegation that the agent lacks, and everything else. It does not limit owners and admins',
  fields({
    enabledTools: list(1000, listedName),
    scopes: list(200, listedName),
    canDelegate: oneOf(true, false),
    maxToolCalls: integer(0, capBounds.maxToolCalls.max),
    maxBudgetCents: integer(0, capBounds.maxBudgetCents.max),
  }),
);

function shapeOf(kind: DocumentKind, part: Part): Shape {
  const tools = { problem: nameProblem, schema: nameSchema, max: bounds.toolKeysInDocument, inBrackets: true as const };
  return fields({
    mode: oneOf('enforce', 'audit', 'audit-only'),
    defaults: tierRules(part),
    tools: entries(tools, tierRules(part)),
    ...(kind === 'workspace'
      ? {
          unknownAgents: oneOf('allow', 'deny'),
          auditUnavailable: oneOf('allow', 'deny'),
          outage,
          redaction: redactionSection,
          toolNames: toolNamesSection,
          toolDefinitions,
          agentCeiling,
        }
      : {}),
    ...(kind === 'user' ? { agentTypes: entries(agentTypeKey, tierRules(part)) } : {}),
  });
}

const organisationShapes: Readonly<Record<DocumentKind, Shape>> = {
  workspace: shapeOf('workspace', 'organisation'),
  role: shapeOf('role', 'organisation'),
  'agent-type': shapeOf('agent-type', 'organisation'),
  user: shapeOf('user', 'organisation'),
};
const selfShape = shapeOf('user', 'self');

/** Returns the schema of the documents that owners and admins write. */
export const documentSchema = (kind: DocumentKind): JsonSchema => organisationShapes[kind].schema;

/**
 * Returns every problem of a document with its place. Each place begins with `at`. An empty list means that the
 * document can be stored.
 */
export function checkDocument(kind: DocumentKind, part: Part, value: unknown, at = ''): readonly Problem[] {
  const shape = part === 'self' ? selfShape : organisationShapes[kind];
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '');
  const grown =
    bytes <= bounds.documentBytes ? [] : problem(at, `must be at most ${bounds.documentBytes} bytes of JSON, would be ${bytes}`);
  // Members write no conditions, so theirs are not read.
  const conditions = part === 'self' ? [] : checkConditions(value, at);
  const wrong = shape.check(value, at);
  // A condition that is wrong as a text is not reported twice.
  const places = new Set(wrong.map(({ path }) => path));
  return [...grown, ...wrong, ...conditions.filter(({ path }) => !places.has(path))].map(({ path, message }) => ({
    path: path === '' ? 'document' : path,
    message,
  }));
}
