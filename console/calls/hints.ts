// What a reader can do about a decision that no layer of the policy made, or not alone, by its reason code. Pure.

const hints: Readonly<Record<string, string>> = {
  workspace_frozen: 'Unfreeze the workspace. Until then every call is denied.',
  agent_suspended: 'An owner or admin ends the suspension of the agent.',
  agent_unknown: 'Register the agent, or correct its name.',
  agent_ambiguous: 'Give the agents different names.',
  agent_tools: 'Add the tool to the enabled tools of the agent.',
  delegation_denied: 'The profiles of the agents must permit this chain: who may delegate, who may be delegated to, and how deep.',
  delegated_tools: 'The agent above must hand the tool down.',
  scope_missing: 'The agents of the chain need the scope that the tool requires.',
  tool_definition_changed: 'Look at the changed definition of the tool, and admit it.',
  identity_unknown: 'Name a member of this workspace, or add this one.',
  key_revoked: 'Use another key.',
  key_scope: 'Use a key that has the scope.',
  call_malformed: 'Correct the request at the place that the reason names.',
  input_too_large: 'Send a smaller input.',
  tool_ambiguous: 'Say which tool is meant: name it in the tool names of the workspace policy.',
  snapshot_missing: 'Call again when the sidecar has its policy.',
  outage: 'Call again when the sidecar reaches the control plane.',
  rate_limited: 'Wait until the window is over, or raise the limit.',
  request_limit: 'Send fewer requests with this key, or smaller ones.',
  sessions_full: 'End sessions of this key, or wait.',
  cap_duration: 'Begin another run, or raise the longest duration of the agent.',
  cap_tool_rounds: 'Begin another run, or raise the rounds of the agent.',
  cap_tool_calls: 'Begin another run, or raise the tool calls of the agent.',
  cap_budget: 'Begin another run, or raise the budget of the agent.',
  redaction_unsupported: 'The caller must take a changed input: a client of the hook endpoint says so with "accepts": ["modified_input"].',
  audit_unavailable: 'Call again when entries can be written.',
  approval_pending: 'A person approves it. The same call, made again, meets the answer.',
  approval_expired: 'Make the call again: a person is asked again.',
  approval_denied: 'A person said no. Their note, if there is one, says why.',
  approvals_full: 'Open questions of this session must be answered first.',
  approval_unanswerable: 'Some member must be allowed to answer: see the approvers of the rule.',
  approval_unavailable: 'Call again when the control plane can be reached.',
};

/** Null: only the layers can say. */
export const hintOf = (code: string): string | null => hints[code] ?? null;
