// Reads and writes the format that Claude Code and Codex share: events about a call, and denials.
import { answerFields, type Fields, fieldsOf, textIn, tierOf, unreadable, valueIn } from './fields.ts';
import type { HostCall, HostEvent, ToolOwner } from './host.ts';
import { joinedIn, methodIn, ownerNamed, serverSaid } from './mcp-names.ts';

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

export function readToolUse(body: unknown, replacesInput: boolean, version: string | null = null): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  const after = name === 'PostToolUse' || name === 'PostToolUseFailure';
  if (name !== 'PreToolUse' && !after) return name !== null && !fields.has('tool_name') ? { phase: 'other' } : unknown(name);
  const call = callIn(fields, version);
  if (typeof call === 'string') return unreadable(after, call);
  if (!after) return { phase: 'before', name, call, replacesInput };
  const isError = name === 'PostToolUseFailure';
  const output = isError ? fields.get('error') : valueIn(fields, 'tool_response', 'tool_output');
  return { phase: 'after', name, call, output: output ?? null, isError, replacesOutput: true, heeded: !isError };
}

const unknown = (name: string | null): HostEvent =>
  unreadable(false, name === null ? 'has no hook_event_name' : 'has a hook_event_name that is none of PreToolUse and PostToolUse');

function ownerIn(fields: Fields, tool: string, input: Fields): ToolOwner | null {
  const asked = methodIn(tool, input);
  if (asked !== null) return asked;
  const server = serverSaid(fields);
  return server === null ? joinedIn(tool) : ownerNamed(server, tool);
}

function callIn(fields: Fields, version: string | null): HostCall | string {
  const tool = textIn(fields, 'tool_name');
  if (tool === null) return 'has no tool_name';
  const sessionId = textIn(fields, 'session_id');
  if (sessionId === null) return 'has no session_id';
  const input = fields.get('tool_input') ?? {};
  return {
    tool,
    server: ownerIn(fields, tool, fieldsOf(input)),
    input,
    sessionId,
    callId: textIn(fields, 'tool_use_id'),
    tier: tierOf(fields),
    agent: fields.get('agent_id') == null ? '' : (textIn(fields, 'agent_type') ?? ''),
    version,
  };
}
