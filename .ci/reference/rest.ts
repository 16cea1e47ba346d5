// docs/reference/rest.md: every route of the control plane, by the frozen API document, with the scope and the roles that
// its operation needs. The document does not say which action an operation is: the table here does, and a route
// without a row is an error.
import { readFileSync } from 'node:fs';
import { accessTo, type Action } from '../../control-plane/access/rules/access.ts';
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

interface ApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
}

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>;
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
    ].join('\n\n');
  },
};
