// Copilot CLI: command hooks. Its own form of events names fields in camel case and the event not at all; the form that it
// shares with an editor is read too. Nothing on standard output allows. Where a hook exits with anything but 0, its older
// versions go on with the call, so a refusal is said and exits with 0. Of a call that failed it sends the error alone, to
// `postToolUseFailure`, and shows its model that error whatever is answered.
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
  // Before version 1 it sent no id of the session: those of one folder are one then.
  const sessionId = textIn(fields, 'sessionId', 'session_id') ?? 'copilot-cli';
  return {
    tool,
    // A server's tool is `<server>-<tool>`, and both have hyphens.
    server: { kind: 'joined', text: tool, joint: '-' },
    input: parsedText(valueIn(fields, 'toolArgs', 'tool_input'), parse) ?? {},
    sessionId,
    callId: null,
    tier: 'interactive',
    agent: '',
    version: null,
  };
}
