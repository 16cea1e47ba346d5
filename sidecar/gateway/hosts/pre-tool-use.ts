// The words that Claude Code and Codex share: their events of a call, and how a denial is written.
import { answerFields, type Fields, fieldsOf, textIn, tierOf, unreadable, valueIn } from './fields.ts';
import type { HostCall, HostEvent } from './host.ts';

export const denyPreToolUse = (reason: string): string =>
  JSON.stringify({
    hookSpecificOutput: { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason },
  });

export function deniesPreToolUse(answer: string): boolean {
  const specific = fieldsOf(answerFields(answer).get('hookSpecificOutput'));
  return (
    specific.get('hookEventName') === 'PreToolUse' &&
    specific.get('permissionDecision') === 'deny' &&
    textIn(specific, 'permissionDecisionReason') !== null
  );
}

export function readToolUse(body: unknown, replacesInput: boolean): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  const after = name === 'PostToolUse' || name === 'PostToolUseFailure';
  if (name !== 'PreToolUse' && !after) return name !== null && !fields.has('tool_name') ? { phase: 'other' } : unknown(name);
  const call = callIn(fields);
  if (typeof call === 'string') return unreadable(after, call);
  if (!after) return { phase: 'before', name, call, replacesInput };
  const isError = name === 'PostToolUseFailure';
  const output = isError ? fields.get('error') : valueIn(fields, 'tool_response', 'tool_output');
  return { phase: 'after', name, call, output: output ?? null, isError, replacesOutput: true, heeded: !isError };
}

const unknown = (name: string | null): HostEvent =>
  unreadable(false, name === null ? 'has no hook_event_name' : 'has a hook_event_name that is none of PreToolUse and PostToolUse');

function callIn(fields: Fields): HostCall | string {
  const tool = textIn(fields, 'tool_name');
  if (tool === null) return 'has no tool_name';
  const sessionId = textIn(fields, 'session_id');
  if (sessionId === null) return 'has no session_id';
  const mcp = /^mcp__(.+?)__(.+)$/s.exec(tool);
  return {
    tool,
    server: mcp?.[1] === undefined || mcp[2] === undefined ? null : { kind: 'named', name: mcp[1], tool: mcp[2] },
    input: fields.get('tool_input') ?? {},
    sessionId,
    callId: textIn(fields, 'tool_use_id'),
    tier: tierOf(fields),
    agent: fields.get('agent_id') == null ? '' : (textIn(fields, 'agent_type') ?? ''),
    version: null,
  };
}
