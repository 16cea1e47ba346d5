// Reads and answers the command hooks of Cursor, which we install with `failClosed: true`. With this setting, Cursor
// treats a missing answer as a failure, so an allow is written explicitly. Cursor replaces outputs of MCP tools only.
// It shows outputs of its own tools to the model, whatever a hook answers.
import { answerFields, type Fields, fieldsOf, isObject, parsedText, textIn, unreadable, valueIn } from './fields.ts';
import type { AfterEvent, Host, HostCall, HostEvent, ParseText } from './host.ts';

export const cursor: Host = {
  name: 'cursor',
  title: 'Cursor',
  read,
  before: {
    allow: () => JSON.stringify({ permission: 'allow' }),
    takes: (_event, changed) => isObject(changed),
    change: (_event, changed) => JSON.stringify({ permission: 'allow', updated_input: changed }),
    deny: (reason, advice) => JSON.stringify({ permission: 'deny', user_message: reason, agent_message: advice }),
    denies: (answer) => {
      const fields = answerFields(answer);
      return fields.get('permission') === 'deny' && textIn(fields, 'user_message') !== null;
    },
  },
  after: {
    pass: () => '{}',
    takes: (_event, changed) => typeof changed === 'string' || isObject(changed),
    change: (_event, changed) => updated(changed),
    block: (reason) => updated({ content: [{ type: 'text', text: reason }] }),
  },
  neutral: '{}',
  refusalExitCode: { before: 2, after: 0 },
};

const updated = (output: unknown): string => JSON.stringify({ updated_mcp_tool_output: output });

const beforeEvents: ReadonlySet<string> = new Set(['preToolUse', 'beforeMCPExecution', 'beforeShellExecution', 'beforeReadFile']);
const afterEvents: ReadonlySet<string> = new Set(['postToolUse', 'postToolUseFailure', 'afterMCPExecution', 'afterShellExecution']);

function read(body: unknown, parse: ParseText): HostEvent {
  const fields = fieldsOf(body);
  const name = textIn(fields, 'hook_event_name');
  if (name === null) return unreadable(false, 'has no hook_event_name');
  const after = afterEvents.has(name);
  if (!after && !beforeEvents.has(name))
    return fields.has('tool_name') ? unreadable(false, 'has a hook_event_name that is none of those of a call') : { phase: 'other' };
  const call = callIn(fields, name, parse);
  if (typeof call === 'string') return unreadable(after, call);
  return after ? afterEvent(fields, name, call, parse) : { phase: 'before', name, call, replacesInput: name === 'preToolUse' };
}

function afterEvent(fields: Fields, name: string, call: HostCall, parse: ParseText): AfterEvent {
  const isError = name === 'postToolUseFailure';
  const output = parsedText(valueIn(fields, 'tool_output', 'result_json', 'output', 'error_message'), parse);
  const heeded = !isError && name !== 'afterShellExecution' && call.server !== null;
  return { phase: 'after', name, call, output: output ?? null, isError, replacesOutput: true, heeded };
}

function callIn(fields: Fields, name: string, parse: ParseText): HostCall | string {
  const tool = textIn(fields, 'tool_name') ?? toolOf[name] ?? null;
  if (tool === null) return 'has no tool_name';
  const sessionId = textIn(fields, 'conversation_id', 'session_id');
  if (sessionId === null) return 'has no conversation_id';
  const isMcp = name.includes('MCPExecution') || tool.startsWith('MCP:');
  return {
    tool,
    server: isMcp ? serverIn(fields, tool) : null,
    input: inputIn(fields, name, parse),
    sessionId,
    callId: textIn(fields, 'tool_use_id'),
    tier: 'interactive',
    agent: '',
    version: textIn(fields, 'cursor_version'),
  };
}

/** Some events exist for a single tool and do not name this tool. This table gives the tool for each such event. */
const toolOf: Readonly<Record<string, string>> = {
  beforeShellExecution: 'Shell',
  afterShellExecution: 'Shell',
  beforeReadFile: 'Read',
};

function inputIn(fields: Fields, name: string, parse: ParseText): unknown {
  if (toolOf[name] === undefined) return parsedText(fields.get('tool_input'), parse) ?? {};
  const wanted = name === 'beforeReadFile' ? ['file_path'] : ['command', 'cwd'];
  return Object.fromEntries(wanted.flatMap((key) => (fields.has(key) ? [[key, fields.get(key)]] : [])));
}

/**
 * Returns the server of an MCP tool. The tool is named `MCP:<tool>`, or `MCP:<server>:<tool>` in older versions. Newer
 * versions give the server in a separate field. In all other cases the server is unknown.
 */
function serverIn(fields: Fields, tool: string): HostCall['server'] {
  const bare = tool.replace(/^MCP:/, '');
  const named = textIn(fields, 'mcp_server_name');
  if (named !== null) return { kind: 'named', name: named, tool: bare };
  return { kind: 'unnamed', tool: bare, joint: /^[^:]+:./s.test(bare) ? ':' : null };
}
