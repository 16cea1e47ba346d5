// Reads and answers the command hooks of Gemini CLI. Gemini CLI adds the fields of a replaced input to the model's
// arguments. A key that redaction renamed would therefore stay next to its redacted form, so such an input is not
// accepted. To replace an output, the answer is a denial whose reason is the new text. The model reads this reason as
// an error. The protocol has no other way to replace a result: up to version 0.61, an answer can only append to the
// original result or run another tool. Some versions read only the denial and its reason.
import { answerFields, type Fields, fieldsOf, isObject, textIn, unreadable } from './fields.ts';
import type { Host, HostCall, HostEvent } from './host.ts';
import { joinedIn, ownerSaid } from './mcp-names.ts';

export const geminiCli: Host = {
  name: 'gemini-cli',
  title: 'Gemini CLI',
  read,
  before: {
    allow: () => JSON.stringify({ decision: 'allow' }),
    takes: ({ call }, changed) =>
      isObject(changed) && isObject(call.input) && Object.keys(call.input).every((key) => Object.hasOwn(changed, key)),
    change: (_event, changed) =>
      JSON.stringify({ decision: 'allow', hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: changed } }),
    deny: (_reason, advice) => deny(advice),
    denies: (answer) => {
      const fields = answerFields(answer);
      return fields.get('decision') === 'deny' && textIn(fields, 'reason') !== null;
    },
  },
  after: {
    pass: () => JSON.stringify({ decision: 'allow' }),
    takes: () => true,
    change: (_event, changed) => {
      const text = modelText(changed);
      return JSON.stringify({ decision: 'deny', reason: text, hookSpecificOutput: { hookEventName: 'AfterTool', tool_output: text } });
    },
    block: (reason) => deny(reason),
  },
  neutral: '{}',
  refusalExitCode: { before: 2, after: 0 },
};

const deny = (reason: string): string => JSON.stringify({ decision: 'deny', reason });

/** Returns the part of a tool's response that the model reads, as text. */
function modelText(response: unknown): string {
  const content = isObject(response) ? (response['llmContent'] ?? response) : response;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return text === '' ? ' ' : text;
}

function read(body: unknown): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  const after = name === 'AfterTool';
  if (name !== 'BeforeTool' && !after)
    return name !== null && !fields.has('tool_name')
      ? { phase: 'other' }
      : unreadable(false, name === null ? 'has no hook_event_name' : 'has a hook_event_name that is none of BeforeTool and AfterTool');
  const call = callIn(fields);
  if (typeof call === 'string') return unreadable(after, call);
  if (!after) return { phase: 'before', name, call, replacesInput: true };
  const output = fields.get('tool_response') ?? null;
  return { phase: 'after', name, call, output, isError: isObject(output) && output['error'] != null, replacesOutput: true, heeded: true };
}

function callIn(fields: Fields): HostCall | string {
  const tool = textIn(fields, 'tool_name');
  if (tool === null) return 'has no tool_name';
  const sessionId = textIn(fields, 'session_id');
  if (sessionId === null) return 'has no session_id';
  return {
    tool,
    server: serverIn(fields, tool),
    input: fields.get('tool_input') ?? {},
    sessionId,
    callId: null,
    tier: 'interactive',
    agent: '',
    version: null,
  };
}

/**
 * Returns the server of a tool. Versions of Gemini CLI join the names of server and tool in different ways. Some
 * versions also send the two names separately.
 */
function serverIn(fields: Fields, tool: string): HostCall['server'] {
  const context = fieldsOf(fields.get('mcp_context'));
  const [server, name] = [textIn(context, 'server_name'), textIn(context, 'tool_name')];
  if (server !== null && name !== null) return ownerSaid(server, name, tool);
  if (!tool.startsWith('mcp_')) return null;
  const joined = { text: tool.slice('mcp_'.length), joint: '_' } as const;
  const inTwos = joinedIn(tool);
  return inTwos === null ? { kind: 'joined', ...joined } : { ...inTwos, or: joined };
}
