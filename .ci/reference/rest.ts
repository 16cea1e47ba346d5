// docs/reference/rest.md: every route of the control plane, by the frozen API document, with the scope and the roles that
// its operation needs. The document does not say which action an operation is: the table here does, and a route
// without a row is an error.
import { readFileSync } from 'node:fs';
import { accessTo, type Action } from '../../control-plane/access/rules/access.ts';
import { agentBounds } from '../../control-plane/agents/rules/agent.ts';
import { channelBounds } from '../../control-plane/channels/rules/channel.ts';
import { sidecarBounds } from '../../control-plane/sidecars/rules/sidecar.ts';
import { topBounds } from '../../control-plane/statistics/rules/stats-query.ts';
import { toolServerBounds } from '../../control-plane/tool-servers/rules/tool-server.ts';
import type { Page } from '../reference.ts';

/** Routes without an action, by the credential that they need. */
type Credential = 'none' | 'operator' | 'govern' | 'session';

const needs: Readonly<Record<string, readonly Action[] | Credential>> = {
  listAgents: ['agent.read'],
  createAgent: ['agent.create'],
  deleteAgent: ['agent.delete'],
  readAgent: ['agent.read'],
  patchAgent: ['agent.patch'],
  updateAgent: ['agent.update'],
  runAgent: ['run.start'],
  listRuns: ['run.read'],
  readAuthorities: ['authority.read'],
  listModels: ['agent.read'],
  finishSignIn: 'none',
  readRun: ['run.read'],
  cancelRun: ['run.cancel'],
  listWorkspaces: 'operator',
  createWorkspace: 'operator',
  deleteWorkspace: 'operator',
  governApproval: 'govern',
  governCost: 'govern',
  governToolOutput: 'govern',
  governToolUse: 'govern',
  readHealth: 'none',
  readMetrics: 'none',
  readReadiness: 'none',
  listAgentTypePolicies: ['agent-type-policy.list'],
  deleteAgentTypePolicy: ['agent-type-policy.delete'],
  readAgentTypePolicy: ['agent-type-policy.read'],
  writeAgentTypePolicy: ['agent-type-policy.write'],
  listApprovals: ['approval.read'],
  followApprovals: ['approval.read'],
  showApproval: ['approval.read'],
  revealApproval: ['approval.reveal'],
  approveApproval: ['approval.approve'],
  denyApproval: ['approval.deny'],
  cancelApproval: ['approval.cancel'],
  listApprovalChannels: ['approval-channel.read'],
  putApprovalChannel: ['approval-channel.write'],
  removeApprovalChannel: ['approval-channel.write'],
  rotateApprovalChannel: ['approval-channel.write'],
  testApprovalChannel: ['approval-channel.write'],
  listApprovalMessages: ['approval-channel.read'],
  retryApprovalMessage: ['approval-channel.write'],
  queryAudit: ['audit.read'],
  showCall: ['audit.read'],
  exportChain: ['audit.read'],
  readCheckpoint: ['audit.read'],
  makeCheckpoint: ['audit.read'],
  exportAudit: ['audit.read'],
  listLogKeys: ['audit.read'],
  listGaps: ['audit.read'],
  tailAudit: ['audit.read'],
  listEvents: ['event.read'],
  explainCall: ['policy.explain'],
  readEffective: ['policy.explain'],
  freezeWorkspace: ['workspace.freeze'],
  listKeys: ['key.read'],
  createKey: ['key.create'],
  revokeKey: ['key.revoke'],
  narrowKey: ['key.narrow'],
  rotateKey: ['key.rotate'],
  listMembers: ['member.read'],
  createMember: ['member.create'],
  removeMember: ['member.remove'],
  readMember: ['member.read'],
  changeMember: ['member.change'],
  exportPolicies: ['policy.export'],
  applyPolicies: ['policy.apply'],
  rollbackPolicies: ['policy.rollback'],
  readPolicyHistory: ['policy.history'],
  previewRedaction: ['redaction.preview'],
  listRolePolicies: ['role-policy.list'],
  deleteRolePolicy: ['role-policy.delete'],
  readRolePolicy: ['role-policy.read'],
  writeRolePolicy: ['role-policy.write'],
  endSession: 'session',
  readSession: 'session',
  readOwnSession: 'session',
  followSession: 'session',
  readSignIn: 'none',
  openSession: 'session',
  openLinkedSession: 'none',
  beginSignIn: 'none',
  listSidecars: ['sidecar.read'],
  simulatePolicies: ['policy.simulate', 'audit.read'],
  listToolServers: ['tool-server.read'],
  registerToolServer: ['tool-server.write'],
  deleteToolServer: ['tool-server.write'],
  readToolServer: ['tool-server.read'],
  admitTools: ['tool-server.write'],
  refreshToolServer: ['tool-server.write'],
  unfreezeWorkspace: ['workspace.unfreeze'],
  readUsage: ['usage.read'],
  readDecisions: ['audit.read'],
  readRedactions: ['audit.read'],
  readSpend: ['audit.read'],
  listUnknownAgents: ['audit.read'],
  deleteUserPolicy: ['user-policy.delete'],
  readUserPolicy: ['user-policy.read'],
  writeUserPolicy: ['user-policy.write'],
  deleteWorkspacePolicy: ['workspace-policy.delete'],
  readWorkspacePolicy: ['workspace-policy.read'],
  writeWorkspacePolicy: ['workspace-policy.write'],
  governApprovalInWorkspace: 'govern',
  governCostInWorkspace: 'govern',
  governToolOutputInWorkspace: 'govern',
  governToolUseInWorkspace: 'govern',
};

const ofCredential: Readonly<Record<Credential, readonly [scope: string, roles: string]>> = {
  none: ['–', '–'],
  operator: ['–', "the operator's key"],
  govern: ['`govern`', 'any'],
  session: ['–', 'any key or session'],
};

function neededBy(operationId: string): readonly [scope: string, roles: string] {
  const need = needs[operationId];
  if (need === undefined) throw new Error(`.ci/reference/rest.ts has no row for ${operationId}`);
  if (typeof need === 'string') return ofCredential[need];
  const rows = need.map(accessTo);
  const scopes = rows.map(({ scope, or }) => (or === undefined ? `\`${scope}\`` : `\`${scope}\` or \`${or}\``));
  const [first] = rows;
  const roles = first === undefined || first.roles.length === 3 ? 'any' : first.roles.join(', ');
  const others = first?.others === undefined ? '' : `; for others: ${first.others.join(', ')}`;
  return [scopes.join(' and '), `${roles}${others}`];
}

interface ApiSchema {
  readonly $ref?: string;
  readonly type?: string;
  readonly default?: number;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly additionalProperties?: ApiSchema | boolean;
}

interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly { readonly name: string; readonly schema: ApiSchema }[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: ApiSchema }>> }>>;
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, ApiSchema>> };
}

interface ListRow {
  readonly order: string;
  /** How many items there can be, or how many of them an answer has. */
  readonly bound: string;
}

const count = (of: number): string => of.toLocaleString('en-US');

const byRetention = 'the retention of the log';
const nothing = 'none';

/** What the document does not say of a list. A route that answers a list without a row is an error. */
const lists: Readonly<Record<string, ListRow>> = {
  listAgents: { order: 'newest first', bound: `${count(agentBounds.inWorkspace)} a workspace, 32 MiB together` },
  listRuns: { order: 'newest first', bound: byRetention },
  listModels: { order: 'by id', bound: 'the catalogue of this version' },
  readOwnSession: { order: 'by slug', bound: 'the scopes that there are; 200 workspaces' },
  readSession: { order: 'fixed', bound: 'the scopes that there are' },
  listWorkspaces: { order: 'by slug', bound: nothing },
  readReadiness: { order: 'fixed', bound: 'one for each part of the process' },
  listAgentTypePolicies: { order: 'by key', bound: 'a page: 4 MiB of documents' },
  listRolePolicies: { order: 'by role', bound: '3 roles' },
  exportPolicies: { order: 'by key', bound: 'no pages: it is one document for `apply`, at one revision' },
  readPolicyHistory: { order: 'newest first', bound: 'a page: 4 MiB of documents' },
  listApprovals: { order: 'newest first', bound: `${byRetention}; a page: 4 MiB` },
  listApprovalChannels: { order: 'by name', bound: `${count(channelBounds.inWorkspace)} a workspace` },
  listApprovalMessages: { order: 'newest first', bound: 'those of 30 days' },
  queryAudit: { order: 'newest first', bound: byRetention },
  listGaps: { order: 'newest first', bound: byRetention },
  listLogKeys: { order: 'oldest first', bound: 'one for each control plane that signed' },
  listEvents: { order: 'newest first', bound: nothing },
  readDecisions: { order: 'largest total first', bound: byRetention },
  readRedactions: { order: 'largest total first', bound: 'the kinds that there are' },
  readSpend: { order: 'largest cost first', bound: 'those who had a cost on the day' },
  listUnknownAgents: { order: 'newest call first', bound: byRetention },
  readUsage: { order: 'least left first; newest first', bound: '1,000 of each' },
  readEffective: { order: 'by name', bound: 'the tools that are known' },
  listSidecars: {
    order: 'connected first, by name',
    bound: `${count(sidecarBounds.left)} that have left a workspace, and those that are connected`,
  },
  listKeys: { order: 'newest first', bound: nothing },
  listMembers: { order: 'by uid', bound: nothing },
  listToolServers: { order: 'by name', bound: `${count(toolServerBounds.serversInWorkspace)} a workspace; a page: 4 MiB of tools` },
};

/** Returns the lists in the answer of a route: fields that are arrays, or the answer itself where its keys are names. */
function listsIn({ responses }: ApiOperation, components: Readonly<Record<string, ApiSchema>>): readonly string[] {
  const schema = responses['200']?.content?.['application/json']?.schema;
  if (schema === undefined) return [];
  const { properties = {}, additionalProperties } = components[schema.$ref?.split('/').at(-1) ?? ''] ?? schema;
  if (typeof additionalProperties === 'object') return ['by key'];
  const isList = ({ type, additionalProperties: more }: ApiSchema): boolean => type === 'array' || typeof more === 'object';
  return Object.entries(properties).flatMap(([name, one]) => (isList(one) ? [`\`${name}\``] : []));
}

function pageOf({ parameters = [] }: ApiOperation): string {
  const size = parameters.find(({ name }) => name === 'limit' || name === 'top');
  if (size === undefined) return 'whole';
  const most = size.name === 'top' ? topBounds.max : limitMax;
  const standard = size.schema.default === undefined ? 'whole without it' : `${count(size.schema.default)} without it`;
  return `\`${size.name}\`: 1 to ${count(most)}; ${standard}`;
}

const limitMax = 1_000;

/** One thing, such as an approval or a policy, has lists of its own. They are not lists of the API. */
const isOfOne = (path: string): boolean => path.endsWith('}') || path.endsWith('/workspacePolicy');

function listSection(document: ApiDocument): string {
  const found = Object.entries(document.paths).flatMap(([path, { get }]) => {
    const items = get === undefined || isOfOne(path) ? [] : listsIn(get, document.components.schemas);
    return get === undefined || items.length === 0 ? [] : [{ path, get, items }];
  });
  const known = new Set(found.map(({ get }) => get.operationId));
  const gone = Object.keys(lists).filter((id) => !known.has(id));
  if (gone.length > 0) throw new Error(`.ci/reference/rest.ts has rows for lists that do not exist: ${gone.join(', ')}`);
  const rows = found.map(({ path, get, items }) => {
    const row = lists[get.operationId];
    if (row === undefined) throw new Error(`.ci/reference/rest.ts has no row for the list of ${get.operationId}`);
    const hasCursor = get.parameters?.some(({ name }) => name === 'cursor') === true;
    return `| \`${path}\` | ${items.join(', ')} | ${row.order} | ${pageOf(get)} | ${hasCursor ? '`next`' : '–'} | ${row.bound} |`;
  });
  return [
    '## Lists',
    'A list with a cursor is read page by page: the answer has `next` as long as there are more items, and `?cursor=<next>` is the page after it. A `limit` out of range is not refused: it means the nearest bound. An item that stays comes once, also while others are added and removed between the pages. A list without a cursor is whole. The last column says what bounds it.',
    `| path | items | order | page | cursor | bound |\n| --- | --- | --- | --- | --- | --- |\n${rows.join('\n')}`,
  ].join('\n\n');
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

function sectionOf(document: ApiDocument, tag: string): string {
  const rows = Object.entries(document.paths).flatMap(([path, operations]) =>
    methods.flatMap((method) => {
      const operation = operations[method];
      if (operation === undefined || operation.tags[0] !== tag) return [];
      const [scope, roles] = neededBy(operation.operationId);
      return [`| ${method.toUpperCase()} | \`${path}\` | ${scope} | ${roles} | ${operation.summary.replaceAll('|', '\\|')} |`];
    }),
  );
  return `## ${tag}\n\n| method | path | scope | role | what it does |\n| --- | --- | --- | --- | --- |\n${rows.join('\n')}`;
}

export const page: Page = {
  path: 'docs/reference/rest.md',
  render: () => {
    const document: ApiDocument = JSON.parse(readFileSync(new URL('../../test/frozen/openapi.json', import.meta.url), 'utf8'));
    const operations = Object.values(document.paths).flatMap((one) => Object.values(one));
    const known = new Set(operations.map(({ operationId }) => operationId));
    const gone = Object.keys(needs).filter((id) => !known.has(id));
    if (gone.length > 0) throw new Error(`.ci/reference/rest.ts has rows for routes that do not exist: ${gone.join(', ')}`);
    const tags = [...new Set(operations.flatMap((operation) => operation.tags))];
    return [
      '# REST',
      'Generated from the API document by `npm run reference`.',
      'A running control plane serves every field and every answer: `/docs` to read, which works offline, and `/openapi.json` for programs. This page is the list of routes.',
      'Authenticate with `Authorization: Bearer gsk_<workspace>_<random>`. `{workspace}` in a path must be the workspace of the key. A call needs the scope of the key and the role of the member behind it. "For others" are the roles that may act on what belongs to other members.',
      'Every answer that is not 2xx is `{"error": "<reason>"}` ([codes](reason-codes.md#refusals-of-the-control-plane)). Every write answers the `revision` that it made, and every read names one in `ETag`. Send it as `If-Match`, and a write that would overwrite a later change is refused (412). Clients must accept unknown fields.',
      ...tags.toSorted().map((tag) => sectionOf(document, tag)),
      listSection(document),
    ].join('\n\n');
  },
};
