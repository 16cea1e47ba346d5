// Reads and answers the hooks of OpenCode. A plugin of ours forwards the arguments of the hooks `tool.execute.before`
// and `tool.execute.after`. If a call throws, OpenCode does not call the second hook. The plugin then forwards the
// error at the next request to the model. A server's tool is named `<server>_<tool>`.
import { fieldsOf, isObject, textIn, unreadable } from './fields.ts';
import type { Host, HostCall, HostEvent } from './host.ts';
import { methodIn } from './mcp-names.ts';
import { pluginAnswers } from './plugin-answers.ts';

export const opencode: Host = { name: 'opencode', title: 'OpenCode', read, ...pluginAnswers };

function read(body: unknown): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  const after = name === 'tool.execute.after';
  if (name !== 'tool.execute.before' && !after)
    return name !== null && !fields.has('tool')
      ? { phase: 'other' }
      : unreadable(false, name === null ? 'has no hook_event_name' : 'has a hook_event_name that is none of tool.execute.before and after');
  const call = callIn(body);
  if (typeof call === 'string') return unreadable(after, call);
  if (!after) return { phase: 'before', name, call, replacesInput: true };
  const output = fields.get('output') ?? null;
  const isError = fields.get('isError') === true || (isObject(output) && output['isError'] === true);
  return { phase: 'after', name, call, output, isError, replacesOutput: true, heeded: true };
}

function callIn(body: unknown): HostCall | string {
  const fields = fieldsOf(body);
  const tool = textIn(fields, 'tool');
  if (tool === null) return 'has no tool';
  const sessionId = textIn(fields, 'sessionID');
  if (sessionId === null) return 'has no sessionID';
  const input = fields.get('args') ?? {};
  return {
    tool,
    server: methodIn(tool, fieldsOf(input)) ?? { kind: 'joined', text: tool, joint: '_' },
    input,
    sessionId,
    callId: textIn(fields, 'callID'),
    // A sub-agent has its own session, which has a parent.
    tier: textIn(fields, 'parentID') === null ? 'interactive' : 'subagent',
    agent: '',
    version: null,
  };
}
