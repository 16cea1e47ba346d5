// Tools that need input of the client before they can answer, in the form of 2026-07-28: a result that asks, and a call
// that is repeated with the answers and with the state that the result carried.
import {
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  type CallToolResult,
  type ClientCapabilities,
  inputRequired,
  type InputRequests,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { randomBytes } from 'node:crypto';
import { type SuiteTool, suiteTool, textResult } from './tool.ts';

/** The progress of a tool; it is signed, so that no client can forge it. */
interface Progress {
  readonly round: number;
}
export const stateCodec = createRequestStateCodec<Progress>({ key: randomBytes(32) });

const form = (message: string, name: string, property: { type: 'string' } | { type: 'boolean' } = { type: 'string' }) =>
  inputRequired.elicit({
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [name]: property }, required: [name] },
  });
const sample = (text: string) =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 });

const isAnswer = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

/** The answers to all of these, or null where one is missing. */
function answersTo(wanted: InputRequests, { mcpReq }: ServerContext): readonly Readonly<Record<string, unknown>>[] | null {
  const answers = Object.keys(wanted).map((key) => mcpReq.inputResponses?.[key]);
  return answers.every(isAnswer) ? answers : null;
}

const round = (context: ServerContext): number => context.mcpReq.requestState<Progress>()?.round ?? 0;

function needing(name: string, wanted: InputRequests, text: (answers: readonly unknown[]) => string, signed = false): SuiteTool {
  return suiteTool(name, `Needs ${Object.keys(wanted).join(', ')}`, async (_args, context) => {
    const answers = answersTo(wanted, context);
    if (answers !== null && (!signed || round(context) === 1)) return textResult(text(answers));
    return inputRequired({ inputRequests: wanted, ...(signed ? { requestState: await stateCodec.mint({ round: 1 }, context) } : {}) });
  });
}

async function inRounds(context: ServerContext): Promise<CallToolResult | InputRequiredResult> {
  const done = round(context);
  const steps: readonly InputRequests[] = [{ step1: form('What is your name?', 'name') }, { step2: form('Which colour?', 'color') }];
  const asked = steps[done - 1];
  const next = asked !== undefined && answersTo(asked, context) === null ? done : done + 1;
  const inputRequests = steps[next - 1];
  if (inputRequests === undefined) return textResult('all rounds are done');
  return inputRequired({ inputRequests, requestState: await stateCodec.mint({ round: next }, context) });
}

/** Asks only for capabilities that the client declares. */
function within(capabilities: ClientCapabilities): InputRequests {
  return {
    ...(capabilities.elicitation === undefined ? {} : { user_name: form('What is your name?', 'name') }),
    ...(capabilities.sampling === undefined ? {} : { capital_question: sample('What is the capital of France?') }),
  };
}

export const needingTools: readonly SuiteTool[] = [
  needing(
    'test_input_required_result_elicitation',
    { user_name: form('What is your name?', 'name') },
    (answers) => `Hello, ${JSON.stringify(answers)}!`,
  ),
  needing('test_input_required_result_sampling', { capital_question: sample('What is the capital of France?') }, (answers) =>
    JSON.stringify(answers),
  ),
  needing('test_input_required_result_list_roots', { client_roots: inputRequired.listRoots() }, (answers) => JSON.stringify(answers)),
  needing(
    'test_input_required_result_request_state',
    { confirm: form('Please confirm', 'ok', { type: 'boolean' }) },
    () => 'state-ok',
    true,
  ),
  needing(
    'test_input_required_result_tampered_state',
    { confirm: form('Please confirm', 'ok', { type: 'boolean' }) },
    () => 'state-ok',
    true,
  ),
  needing(
    'test_input_required_result_multiple_inputs',
    { user_name: form('What is your name?', 'name'), greeting: sample('Greet a person'), client_roots: inputRequired.listRoots() },
    (answers) => JSON.stringify(answers),
    true,
  ),
  suiteTool('test_input_required_result_multi_round', 'Needs two things, one after the other', (_args, context) => inRounds(context)),
  suiteTool('test_input_required_result_capabilities', 'Needs what the client can give', (_args, { mcpReq }) => {
    const inputRequests = within(Object(mcpReq.envelope)[CLIENT_CAPABILITIES_META_KEY] ?? {});
    return Promise.resolve(inputRequired({ inputRequests, requestState: 'any' }));
  }),
  needing('test_missing_capability', { capital_question: sample('What is the capital of France?') }, (answers) => JSON.stringify(answers)),
  needing('test_streaming_elicitation', { user_name: form('What is your name?', 'name') }, (answers) => JSON.stringify(answers)),
];
