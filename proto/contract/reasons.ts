// Defines all reasons of decisions. `decisionReason` consists of one of these codes, a colon, and words for people.
// `terminal`: the same call will be refused again until something is changed. `retry`: the call may be permitted later.
export const reasons = {
  allowed: null,
  workspace_frozen: 'terminal',
  agent_suspended: 'terminal',
  snapshot_missing: 'retry',
  outage: 'retry',
  call_malformed: 'terminal',
  input_too_large: 'terminal',
  tool_ambiguous: 'terminal',
  identity_unknown: 'terminal',
  key_revoked: 'terminal',
  key_scope: 'terminal',
  agent_unknown: 'terminal',
  agent_ambiguous: 'terminal',
  agent_tools: 'terminal',
  delegation_denied: 'terminal',
  delegated_tools: 'terminal',
  sessions_full: 'retry',
  scope_missing: 'terminal',
  tool_definition_changed: 'terminal',
  cap_duration: 'terminal',
  cap_tool_rounds: 'terminal',
  cap_tool_calls: 'terminal',
  cap_budget: 'terminal',
  policy_denied: 'terminal',
  approval_pending: 'retry',
  approval_denied: 'terminal',
  approval_expired: 'retry',
  approvals_full: 'retry',
  approval_unanswerable: 'terminal',
  approval_unavailable: 'retry',
  rate_limited: 'retry',
  request_limit: 'retry',
  redaction_unsupported: 'terminal',
  audit_unavailable: 'retry',
  caller_gone: 'retry',
  internal_error: 'retry',
} as const satisfies Record<string, null | 'terminal' | 'retry'>;

export type ReasonCode = keyof typeof reasons;
export type DenyCode = Exclude<ReasonCode, 'allowed'>;
export type DenyKind = 'terminal' | 'retry';

export const isReasonCode = (value: string): value is ReasonCode => Object.hasOwn(reasons, value);

/**
 * The marks at the beginning of a reason. A mark states what layers in audit mode would have decided, if that differs
 * from the decision.
 */
export const shadowMarks = ['would_allow', 'would_deny', 'would_ask', 'would_throttle', 'would_redact', 'would_log'] as const;
export type ShadowMark = (typeof shadowMarks)[number];
