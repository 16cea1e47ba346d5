// Reads and answers the hooks of Cline. A plugin of ours forwards the arguments of the hooks `beforeTool` and
// `afterTool`. A server's tool is named `<server>__<tool>`. If Cline replaced characters or cut the name, it appends
// `_` and a digest of 8 characters.
import { fieldsOf, textIn, unreadable } from './fields.ts';
import type { Host, HostCall, HostEvent } from './host.ts';
import { pluginAnswers } from './plugin-answers.ts';

export const cline: Host = { name: 'cline', title: 'Cline', read, ...pluginAnswers };

function read(body: unknown): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  const after = name === 'afterTool';
  if (name !== 'beforeTool' && !after)
    return name !== null && !fields.has('toolName')
      ? { phase: 'other' }
      : unreadable(false, name === null ? 'has no hook_event_name' : 'has a hook_event_name that is none of beforeTool and afterTool');
  const call = callIn(body);
  if (typeof call === 'string') return unreadable(after, call);
  if (!after) return { phase: 'before', name, call, replacesInput: true };
  const isError = fields.get('isError') === true;
  return { phase: 'after', name, call, output: fields.get('output') ?? null, isError, replacesOutput: true, heeded: true };
}

const writtenMax = 64;

function callIn(body: unknown): HostCall | string {
  const fields = fieldsOf(body);
  const tool = textIn(fields, 'toolName');
  if (tool === null) return 'has no toolName';
  const sessionId = textIn(fields, 'conversationId');
  if (sessionId === null) return 'has no conversationId';
  return {
    tool,
    // If the name was cut, the joint `__` may be missing.
    server: tool.includes('__') || tool.length === writtenMax ? { kind: 'joined', text: tool, joint: '__' } : null,
    input: fields.get('input') ?? {},
    sessionId,
    callId: textIn(fields, 'toolCallId'),
    tier: textIn(fields, 'parentAgentId') === null ? 'interactive' : 'subagent',
    agent: '',
    version: null,
  };
}
