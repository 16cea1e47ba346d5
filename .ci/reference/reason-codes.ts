// docs/reference/reason-codes.md: the reasons of decisions, and the codes of refusals, by the tables of the contract. The
// meanings are here; the compiler reports a code without one.
import {
  codes,
  type ErrorCode,
  type NackCode,
  nackCodes,
  type ReasonCode,
  reasons,
  type RefusedCode,
  refusedCodes,
  shadowMarks,
} from '@tollgate/proto/contract';
import type { Page } from '../reference.ts';

/** When it is decided, by the steps of the semantics, and what it means. */
const meanings: Readonly<Record<ReasonCode, readonly [step: string, meaning: string]>> = {
  allowed: ['7', 'the call may be made'],
  workspace_frozen: ['0', 'the workspace is frozen'],
  agent_suspended: ['0', 'an agent of the chain is suspended'],
  snapshot_missing: ['1', 'the sidecar has no policy yet'],
  outage: ['1', 'the control plane has not answered for longer than the workspace allows, and the outage rule denies this tier'],
  call_malformed: ['2', 'the request cannot be read, or a field of it is wrong; the reason names the place'],
  input_too_large: ['2', 'a body or an output is larger than the door accepts'],
  tool_ambiguous: ['2', "a coding agent's name of a tool could be several tools"],
  identity_unknown: ['2', 'no key was sent, or the named user is not a member'],
  key_revoked: ['2', 'the key is unknown, revoked or expired, or its member left'],
  key_scope: [
    '2',
    'the key lacks `govern`, lacks `govern.impersonate` to name another user, may not name a user of that role, or is of another workspace',
  ],
  agent_unknown: ['3', 'the agent is not registered, and the workspace denies such agents'],
  agent_ambiguous: ['3', 'several agents have this name'],
  agent_tools: ['3', '`enabledTools` of the agent does not name the tool'],
  delegation_denied: ['3', 'the profile of an agent does not permit this chain'],
  delegated_tools: ['3', 'the tool was not handed down to this agent'],
  sessions_full: ['before 0', 'the key has as many sessions with `delegated_tools`, or with costs, as there is space for'],
  scope_missing: ['3', 'the tool requires a scope that the chain lacks'],
  tool_definition_changed: ['2', 'the definition of the tool is not admitted, and the workspace pins definitions'],
  cap_duration: ['4', 'the run has reached `maxDurationMs`'],
  cap_tool_rounds: ['4', 'the run has reached `maxToolRounds`'],
  cap_tool_calls: ['4', 'the run has reached `maxToolCalls`'],
  cap_budget: ['4', 'the run has reached `maxBudgetCents`'],
  policy_denied: ['5', 'a rule denies the call; the reason names its layer and place'],
  approval_pending: ['after 6', 'a rule asks a person, who has not answered; the same call made again meets the answer'],
  approval_denied: ['after 6', 'the person denied the call; the reason has their note'],
  approval_expired: ['after 6', 'no one answered in time, the question was cancelled, or the approval was not used in time'],
  approvals_full: ['after 6', 'too many questions of the session or the subject are open'],
  approval_unanswerable: ['after 6', 'no member may answer the question'],
  approval_unavailable: ['after 6', 'the control plane, which keeps the approvals, cannot be reached'],
  rate_limited: ['6', 'a rate limit is used up, or the lease that this sidecar holds is used up and no more was granted in time'],
  request_limit: ['before 0', 'the key sends more requests, or bytes of them, than it may; one entry a second holds their number'],
  redaction_unsupported: ['7', 'policy redacts, and the door cannot replace what was found, or redaction cannot read the value'],
  audit_unavailable: ['after 7', 'the entry could not be written, and the workspace has not set `auditUnavailable: "allow"`'],
  caller_gone: ['any', 'the caller closed the request before it was answered: nothing passes, nothing is counted'],
  internal_error: ['any', "a bug in Tollgate, or no answer in time at a coding agent's hook: nothing passes"],
};

const codeMeanings: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'the request is wrong; `error` names the place',
  unauthenticated: 'there is no key or session, or it is not valid',
  forbidden: 'the scopes of the key or the role of the member do not permit this',
  not_found: 'there is no such resource',
  conflict: 'the resource exists, or its state does not permit the change',
  stale_revision: 'what the write changes was changed after the revision in `If-Match`',
  too_large: 'the body is too large',
  unsupported_media: 'the content type is not JSON',
  rate_limited: 'too many requests; `Retry-After` says when to try again',
  internal: 'a bug in Tollgate; its log has the details',
  upstream_failed: 'another server, such as a tool server or an issuer, did not answer correctly',
  unavailable: 'the database or another part is temporarily unavailable',
};

const nackMeanings: Readonly<Record<NackCode, string>> = {
  schema_unsupported: 'its schema version is newer than the sidecar understands',
  wrong_workspace: 'it is for another workspace',
  hash_mismatch: 'the sidecar computed another hash',
  wrong_base: 'a delta does not start from what the sidecar holds',
  revision_backwards: 'its revision is older than the one that the sidecar holds',
  entry_invalid: 'an entry has a wrong field; the message names the place',
  settings_missing: 'it has no entry `settings`',
  malformed: 'the message could not be decoded; the stream has ended',
  internal: 'a bug in the sidecar; its log has the details',
};

const refusedMeanings: Readonly<Record<RefusedCode, string>> = {
  wrong_secret: 'the spool was begun with another secret',
  other_workspace: 'the spool was begun for another workspace, possibly a deleted one with the same slug',
  hole: 'earlier records did not arrive, and are not reported as lost',
  conflict: 'a record that was accepted arrived again with other bytes',
  malformed: 'the batch does not have the form of the contract',
};

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const again = { retry: 'yes', terminal: 'no' } as const;

/** Statuses of the HTTP door and of Envoy; absent: 403. */
const statuses: Readonly<Partial<Record<ReasonCode, string>>> = {
  allowed: '–',
  snapshot_missing: '503',
  call_malformed: '400, 403, 415',
  identity_unknown: '401, 403',
  key_revoked: '401, 403',
  rate_limited: '429',
  request_limit: '429',
  internal_error: '403, 500',
  // Only hooks and the MCP door have these.
  input_too_large: '–',
  tool_ambiguous: '–',
  tool_definition_changed: '–',
};

const reasonTable = (): string =>
  table(
    ['code', 'step', 'again later?', 'HTTP', 'meaning'],
    (Object.keys(reasons) as ReasonCode[]).map((code) => {
      const kind = reasons[code];
      return [`\`${code}\``, meanings[code][0], kind === null ? '–' : again[kind], statuses[code] ?? '403', meanings[code][1]];
    }),
  );

const codeTable = (): string =>
  table(
    ['code', 'HTTP', 'gRPC', 'again later?', 'meaning'],
    (Object.keys(codes) as ErrorCode[]).map((code) => {
      const { http, grpc, retryable } = codes[code];
      return [`\`${code}\``, String(http), `\`${grpc}\``, retryable ? 'yes' : 'no', codeMeanings[code]];
    }),
  );

const named = <C extends string>(list: readonly C[], words: Readonly<Record<C, string>>): string =>
  table(
    ['code', 'meaning'],
    list.map((code) => [`\`${code}\``, words[code]]),
  );

export const page: Page = {
  path: 'docs/reference/reason-codes.md',
  render: () =>
    [
      '# Reason codes',
      'Generated from `proto/contract` by `npm run reference`.',
      '## Decisions',
      'The reason of a decision is a code, a colon, and words that name the layer and the place of the rule. "Again later?" says whether the same call may pass later without a change. In answers and entries this is `kind`: `retry` or `terminal`.',
      'The step is the one of [the order](../design/semantics.md#the-order).',
      'HTTP is the status at the HTTP door and at Envoy. The hook endpoint answers 200 for all of them, except 401 and 403 for a bad key and 5xx for an outage of Tollgate. A denied call of an MCP tool is a result with `isError`. agentgateway gets `RESOURCE_EXHAUSTED` in place of 429 and `PERMISSION_DENIED` in place of 403.',
      reasonTable(),
      `If layers in audit mode would have decided otherwise, the reason begins with one of: ${shadowMarks.map((mark) => `\`${mark}\``).join(', ')}.`,
      '## Refusals of the control plane',
      'Every answer of REST that is not 2xx is `{"error": "<reason>"}`. Programs should use the status.',
      codeTable(),
      '## Why a sidecar refuses a snapshot',
      'The sidecar keeps what it held. `tollgate sidecars` and `tollgate_snapshots_refused_total` show the code.',
      named(nackCodes, nackMeanings),
      '## Why the control plane refuses a spool',
      'Nothing of the batch is stored. The sidecar keeps the spool on disk. `tollgate_audit_batches_refused_total` shows the code.',
      named(refusedCodes, refusedMeanings),
    ].join('\n\n'),
};
