// Reads and answers the command hooks of Copilot CLI. Its own event format has field names in camel case and no event
// name. The format that it shares with an editor is read too. Empty standard output allows the call. If a hook exits
// with a code other than 0, older versions run the call. Therefore a refusal is written to the output with exit code 0.
// For a failed call, Copilot CLI sends only the error, to `postToolUseFailure`. It shows that error to its model,
// whatever the answer is.
import { answerFields, type Fields, fieldsOf, isObject, parsedText, textIn, unreadable, valueIn } from './fields.ts';
import type { Host, HostCall, HostEvent, ParseText } from './host.ts';

export const copilotCli: Host = {
  name: 'copilot-cli',
  title: 'Copilot CLI',
  read,
  before: {
    allow: () => '',
    takes: (_event, changed) => isObject(changed),
    change: (_event, changed) => JSON.stringify({ modifiedArgs: changed }),
    deny: (_reason, advice) => JSON.stringify({ permissionDecision: 'deny', permissionDecisionReason: advice }),
    denies: (answer) => {
      const fields = answerFields(answer);
      return fields.get('permissionDecision') === 'deny' && textIn(fields, 'permissionDecisionReason') !== null;
    },
  },
  after: {
    pass: () => '',
    takes: () => true,
    change: (_event, changed) => modified(typeof changed === 'string' ? changed : JSON.stringify(changed)),
    block: (reason) => modified(reason),
  },
  neutral: '',
  refusalExitCode: { before: 0, after: 0 },
};

const modified = (text: string): string => JSON.stringify({ modifiedResult: { resultType: 'success', textResultForLlm: text } });

function read(body: unknown, parse: ParseText): HostEvent {
  const fields = fieldsOf(body);
  const result = valueIn(fields, 'toolResult', 'tool_result');
  const failed = result === undefined && fields.has('error');
  const after = result !== undefined || failed;
  if (!fields.has('toolName') && !fields.has('tool_name'))
    return isObject(body) && result === undefined ? { phase: 'other' } : unreadable(after, 'has no toolName');
  const call = callIn(fields, parse);
  if (typeof call === 'string') return unreadable(after, call);
  const name = textIn(fields, 'hook_event_name') ?? (failed ? 'postToolUseFailure' : after ? 'postToolUse' : 'preToolUse');
  if (!after) return { phase: 'before', name, call, replacesInput: true };
  const told = fieldsOf(result);
  const output = failed ? fields.get('error') : (valueIn(told, 'textResultForLlm', 'text_result_for_llm') ?? result);
  const isError = failed || (textIn(told, 'resultType', 'result_type') ?? 'success') !== 'success';
  return { phase: 'after', name, call, output: output ?? null, isError, replacesOutput: true, heeded: !failed };
}

function callIn(fields: Fields, parse: ParseText): HostCall | string {
  const tool = textIn(fields, 'toolName', 'tool_name');
  if (tool === null) return 'has a toolName that is no text';
  // Copilot CLI sends no session id before version 1. All sessions of such versions count as one.
  const sessionId = textIn(fields, 'sessionId', 'session_id') ?? 'copilot-cli';
  return {
    tool,
    // A server's tool is named `<server>-<tool>`, and both parts may contain hyphens.
    server: { kind: 'joined', text: tool, joint: '-' },
    input: parsedText(valueIn(fields, 'toolArgs', 'tool_input'), parse) ?? {},
    sessionId,
    callId: null,
    tier: 'interactive',
    agent: '',
    version: null,
  };
}
