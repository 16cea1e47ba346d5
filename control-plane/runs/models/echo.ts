// `demo/echo`: a model without a network that follows instructions, so that a real run can be watched and tested. It
// reads its instructions from the last message of the user, line by line:
//
//   call <tool> <json>   calls the tool, by its name or its alias, with these arguments; without arguments, with `{}`
//   then                 the lines after it are called in the next round
//
// Calls of one round are parallel. All other lines are the answer, followed by the result of each tool. The output of a
// tool is never used as an instruction.

import type { ModelEvent, ModelMessage, ModelRequest, RequestedCall, TokenUsage } from '../model.ts';
import { createAliases } from '../tools/aliases.ts';

const callLine = /^call\s+(\S+)(?:\s+(.*))?$/;

export async function* echo({ system, messages, tools, maxOutputTokens, signal }: ModelRequest): AsyncGenerator<ModelEvent> {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const since = messages.slice(at + 1);
  const round = since.filter(({ role }) => role === 'assistant').length;
  const { rounds, words } = readInput(textOf(messages[at]));
  const aliases = new Set(tools.map(({ alias }) => alias));
  const toolCalls = (rounds[round] ?? []).map((call, n) => requested(call, { round, n, aliases }));
  const answer = toolCalls.length > 0 ? '' : [words, ...since.flatMap(resultLines)].filter((part) => part !== '').join('\n');
  const deltas = piecesOf(answer, maxOutputTokens);
  for (const delta of deltas) {
    // Simulates a remote model: other tasks run between two pieces.
    await new Promise((resume) => setImmediate(resume));
    signal.throwIfAborted();
    yield { kind: 'text', delta };
  }
  const text = deltas.join('');
  const finish = toolCalls.length > 0 ? 'tool_calls' : text === answer ? 'stop' : 'length';
  yield {
    kind: 'reply',
    text,
    toolCalls,
    usage: usageOf(JSON.stringify([system, messages, tools]), JSON.stringify([text, toolCalls])),
    finish,
  };
}

interface Call {
  readonly tool: string;
  readonly arguments: string;
}

function readInput(text: string): { readonly rounds: readonly (readonly Call[])[]; readonly words: string } {
  const rounds: Call[][] = [[]];
  const words: string[] = [];
  for (const line of text.split('\n').map((one) => one.trim())) {
    const [, tool, input = '{}'] = callLine.exec(line) ?? [];
    if (tool !== undefined) rounds.at(-1)?.push({ tool, arguments: input });
    else if (line === 'then') rounds.push([]);
    else words.push(line);
  }
  return { rounds: rounds.filter((calls) => calls.length > 0), words: words.join('\n').trim() };
}

interface Place {
  readonly round: number;
  readonly n: number;
  readonly aliases: ReadonlySet<string>;
}

/** Builds the call of an instruction, even if the tool is not offered. */
function requested({ tool, arguments: input }: Call, { round, n, aliases }: Place): RequestedCall {
  const alias = aliases.has(tool) ? tool : createAliases([tool]).aliasOf(tool);
  return { callId: `call_${round + 1}_${n + 1}`, alias, arguments: input };
}

const textOf = (message: ModelMessage | undefined): string => (message?.role === 'user' ? message.text : '');

const resultLines = (message: ModelMessage): readonly string[] =>
  message.role === 'tool' ? [`${message.alias} ${message.isError ? 'failed' : 'gave'}: ${message.output}`] : [];

const bytesEach = 4;
const tokensIn = (text: string): number => Math.ceil(Buffer.byteLength(text) / bytesEach);

const usageOf = (input: string, output: string): TokenUsage => ({
  inputTokens: tokensIn(input),
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: tokensIn(output),
});

/**
 * Splits the text into words, each with the whitespace after it. Returns the first words, as many as fit in `tokensMax`
 * tokens.
 */
function piecesOf(text: string, tokensMax: number): readonly string[] {
  const pieces = text.match(/\S+\s*|\s+/g) ?? [];
  let bytes = 0;
  const end = pieces.findIndex((piece) => (bytes += Buffer.byteLength(piece)) > tokensMax * bytesEach);
  return end < 0 ? pieces : pieces.slice(0, end);
}
