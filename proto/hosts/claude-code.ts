// Reads and answers the hooks of Claude Code (`http` or `command`). If a hook fails in any way, Claude Code runs the
// call. Therefore every refusal is sent as a regular answer. Claude Code accepts a replaced output only if it has the
// same shape as `tool_response`. Otherwise it rejects the replacement, and the model receives the original output.
import { cursor } from './cursor.ts';
import { fieldsOf, isObject, sameSort } from './fields.ts';
import type { Host, HostEvent } from './host.ts';
import { deniesPreToolUse, denyPreToolUse, readToolUse } from './pre-tool-use.ts';

export const claudeCode: Host = {
  name: 'claude-code',
  title: 'Claude Code',
  read: (body, parse) => (fieldsOf(body).has('cursor_version') ? inCursor(cursor.read(body, parse)) : readToolUse(body, true)),
  before: {
    allow: () => '{}',
    takes: (_event, changed) => isObject(changed),
    // The answer has no permissionDecision, so the user's own rules decide whether the user is asked.
    change: (_event, changed) => JSON.stringify({ hookSpecificOutput: { hookEventName: 'PreToolUse', updatedInput: changed } }),
    deny: (_reason, advice) => denyPreToolUse(advice),
    denies: deniesPreToolUse,
  },
  after: {
    pass: () => '{}',
    takes: ({ output }, changed) => sameSort(output, changed),
    change: (_event, changed) => updated(withoutCopies(changed)),
    block: (reason, output) =>
      output === undefined ? JSON.stringify({ decision: 'block', reason }) : updated(withheld(withoutCopies(output), reason, '')),
  },
  neutral: '{}',
  refusalExitCode: { before: 2, after: 0 },
};

/**
 * Adapts an event that comes from Cursor. Cursor also runs Claude Code's hooks, but it gives them an input in its own
 * form. Cursor respects a denial in Claude Code's format. Whether it respects other answers is not certain.
 */
function inCursor(event: HostEvent): HostEvent {
  if (event.phase === 'before') return { ...event, replacesInput: false };
  return event.phase === 'after' ? { ...event, heeded: false } : event;
}

const updated = (output: unknown): string =>
  JSON.stringify({ hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: output } });

// These fields refer to a copy of a long output on disk. Claude Code would show that copy instead of the replaced
// output.
const copies = new Set(['persistedOutputPath', 'persistedOutputSize']);
const withoutCopies = (output: unknown): unknown =>
  isObject(output) && Object.keys(output).some((key) => copies.has(key))
    ? Object.fromEntries(Object.entries(output).filter(([key]) => !copies.has(key)))
    : output;

// The values of these fields describe the shape of an output, and contain nothing of its content.
const shapeKeys = new Set(['type', 'mode', 'status']);
const shapeWord = /^[a-z_]{1,32}$/;

/** Returns a value of the same shape, with every text replaced by the reason. */
function withheld(value: unknown, reason: string, key: string): unknown {
  if (typeof value === 'string') return value === '' || (shapeKeys.has(key) && shapeWord.test(value)) ? value : reason;
  if (Array.isArray(value)) return value.map((item) => withheld(item, reason, ''));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withheld(item, reason, name)]));
}
