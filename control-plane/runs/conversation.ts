// Stores the conversation of a run in two forms: the exact messages for the model, and the messages for the records,
// redacted as policy says. Both have a maximum size. When the first form is full, further tool outputs are left out.
// When the second form is full, the rest is cut off.
import { bounds } from '@tollgate/proto/contract';
import type { ModelMessage, ModelReply, TokenUsage } from './model.ts';

interface KeptCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
}

type KeptMessage =
  | { readonly role: 'user'; readonly text: string }
  | { readonly role: 'assistant'; readonly text: string; readonly toolCalls: readonly KeptCall[] }
  | {
      readonly role: 'tool';
      readonly callId: string;
      readonly tool: string;
      readonly decision: 'allow' | 'deny';
      readonly reason: string;
      readonly isError: boolean;
      /** The output after `shortValue` has shortened it. */
      readonly output: unknown;
    }
  /** This item is the last one if further messages were not kept. */
  | { readonly role: 'cut' };

/** A conversation as it is stored while its run waits. */
export interface SavedConversation {
  readonly messages: readonly ModelMessage[];
  readonly kept: readonly KeptMessage[];
  readonly keptBytes: number;
  readonly early: number;
  readonly isCut: boolean;
  readonly bytes: number;
  readonly last: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

export interface Conversation {
  readonly messages: readonly ModelMessage[];
  readonly kept: readonly KeptMessage[];
  /** Returns the beginning of `kept`. This part is small enough to be written to the records in each round. */
  keptSoFar(): readonly KeptMessage[];
  /** UTF-8 bytes of the messages as JSON. */
  readonly bytes: number;
  /** The last text of the agent, including the text of an unfinished reply. */
  readonly output: string;
  /** The text of a reply that was cut off; empty if no reply was cut off. */
  readonly unfinished: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  say(message: ModelMessage): void;
  keep(message: KeptMessage): void;
  /** Adds a piece of the current reply. */
  addDelta(delta: string): void;
  /** Adds the token usage of a reply. */
  count(usage: TokenUsage): void;
  /** Completes the current reply. */
  addReply(reply: ModelReply): void;
  /** Returns everything that `createConversation` needs to continue. There must be no unfinished reply. */
  save(): SavedConversation;
}

const messagesBytesMax = 16 * 1_048_576;
const keptBytesMax = 8 * 1_048_576;
/**
 * The maximum size, in bytes, of the part that `keptSoFar` returns. That part is written to the records in each round.
 */
const soFarBytesMax = 1_048_576;
const keptItemBytesMax = 64 * 1024;
const full = 'This output was left out: the conversation is as long as it may be.';

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

/** `saved`: the conversation continues from there; null: it begins. */
export function createConversation(saved: SavedConversation | null = null): Conversation {
  const messages: ModelMessage[] = [];
  const kept: KeptMessage[] = [];
  if (saved !== null) {
    for (const message of saved.messages) messages.push(message);
    for (const message of saved.kept) kept.push(message);
  }
  let keptBytes = saved?.keptBytes ?? 0;
  /** How many of the kept messages `keptSoFar` returns. */
  let early = saved?.early ?? 0;
  let isCut = saved?.isCut ?? false;
  let bytes = saved?.bytes ?? 0;
  let last = saved?.last ?? '';
  let under = '';
  let promptTokens = saved?.promptTokens ?? 0;
  let completionTokens = saved?.completionTokens ?? 0;

  const say = (message: ModelMessage): void => {
    const said =
      message.role === 'tool' && bytes + bytesOf(message) > messagesBytesMax ? { ...message, output: full, isError: true } : message;
    messages.push(said);
    bytes += bytesOf(said);
  };
  return {
    messages,
    kept,
    get bytes() {
      return bytes;
    },
    get output() {
      return under === '' ? last : under;
    },
    get unfinished() {
      return under;
    },
    get promptTokens() {
      return promptTokens;
    },
    get completionTokens() {
      return completionTokens;
    },
    say,
    keptSoFar: () => [...kept.slice(0, early), ...(early < kept.length ? [{ role: 'cut' } as const] : [])],
    keep: (message) => {
      if (isCut) return;
      const short = shortened(message);
      keptBytes += bytesOf(short);
      isCut = keptBytes > keptBytesMax;
      kept.push(isCut ? { role: 'cut' } : short);
      if (keptBytes <= soFarBytesMax) early = kept.length;
    },
    addDelta: (delta) => {
      under += delta;
    },
    count: ({ inputTokens, outputTokens }) => {
      promptTokens += inputTokens;
      completionTokens += outputTokens;
    },
    addReply: (reply) => {
      if (reply.text !== '') last = reply.text;
      under = '';
      say({ role: 'assistant', ...reply });
    },
    save: () => ({ messages, kept, keptBytes, early, isCut, bytes, last, promptTokens, completionTokens }),
  };
}

function shortened(message: KeptMessage): KeptMessage {
  switch (message.role) {
    case 'assistant':
      return { ...message, toolCalls: message.toolCalls.map((call) => ({ ...call, input: shortValue(call.input) })) };
    case 'tool':
    case 'user':
    case 'cut':
      return message;
  }
}

/** Returns the value as it is kept. A value whose JSON is too long is replaced by the beginning of its JSON. */
export function shortValue(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return Buffer.byteLength(text) <= keptItemBytesMax ? value : { cut: true, begins: beginning(text, keptItemBytesMax) };
}

/** Returns the first `bytes` bytes of the text, without an incomplete character at the end. */
function beginning(text: string, bytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, bytes), { stream: true });
}

/** Returns a tool's output as text for a model. */
export function outputText(output: unknown): string {
  const text = typeof output === 'string' ? output : (JSON.stringify(output) ?? 'null');
  if (Buffer.byteLength(text) <= bounds.modelOutputBytes) return text;
  return `${beginning(text, bounds.modelOutputBytes)}\n[cut: the output was longer than ${bounds.modelOutputBytes} bytes]`;
}
