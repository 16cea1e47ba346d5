// What a tool answered, as a model can read it: JSON of at most `outputBytesMax`, without what is no text (that is named
// by type and size), without the secrets that the server was sent, and such that it can be stored.
import { isDeepStrictEqual } from 'node:util';
import { cleanJson } from '../../domain/clean-json.ts';
import { isObject } from '../../domain/shape.ts';
import type { Secrets } from '../../domain/tool-servers/tool-server.ts';
import type { ToolResult } from '../tools/tool.ts';

const outputBytesMax = 1_048_576;
/** Shorter ones are words that stand anywhere. */
const secretLengthMin = 8;
/** How far back a cut looks for a blank, so that it leaves no half of a word. */
const wordLengthMax = 1_024;

/** As the protocol says, or not. */
export interface ToolAnswer {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

/** `brokenPromise`: what of the tool's outputSchema it does not keep, in words. Then it is an error; the answer stands beside that. */
export function resultOf(answer: ToolAnswer, secrets: Secrets, brokenPromise: string | null): ToolResult {
  const answered = outputOf(cleanJson(answer.content, new Set()), cleanJson(answer.structuredContent, new Set()));
  const output =
    brokenPromise === null ? answered : { problem: `the answer does not fit the outputSchema of its tool: ${brokenPromise}`, answered };
  return { output: bounded(without(needlesOf(secrets), output)), isError: answer.isError === true || brokenPromise !== null };
}

export const failure = (words: string): ToolResult => ({ output: words, isError: true });

function outputOf(content: unknown, structured: unknown): unknown {
  const blocks = Array.isArray(content) ? content.map(readable) : [];
  const [first] = blocks;
  if (structured === undefined) return blocks.length === 1 && first?.['type'] === 'text' ? first['text'] : blocks;
  // The protocol has servers say the same again as text, for clients that know no better.
  const saysMore = blocks.some((block) => block['type'] !== 'text' || !isDeepStrictEqual(parsed(block['text']), structured));
  return saysMore ? { content: blocks, structuredContent: structured } : structured;
}

type Block = Readonly<Record<string, unknown>>;

function readable(block: unknown): Block {
  if (!isObject(block)) return { type: 'unknown' };
  const { type, text, data, resource } = block;
  switch (type) {
    case 'text':
      return { type, text };
    case 'image':
    case 'audio':
      return { type, ...picked(block, 'mimeType'), bytes: bytesOf(data) };
    case 'resource_link':
      return { type, ...picked(block, 'uri', 'name', 'title', 'description', 'mimeType', 'size') };
    case 'resource':
      return { type, ...(isObject(resource) ? contentsOf(resource) : {}) };
    default:
      return { type: 'unknown' };
  }
}

function contentsOf(resource: Block): Block {
  const about = picked(resource, 'uri', 'mimeType');
  return Object.hasOwn(resource, 'text') ? { ...about, text: resource['text'] } : { ...about, bytes: bytesOf(resource['blob']) };
}

const picked = (block: Block, ...keys: readonly string[]): Block =>
  Object.fromEntries(keys.filter((key) => Object.hasOwn(block, key)).map((key) => [key, block[key]]));

const bytesOf = (base64: unknown): number => (typeof base64 === 'string' ? Buffer.byteLength(base64, 'base64') : 0);

function parsed(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return undefined;
  }
}

/** Each secret, and what stands behind its scheme: of `Bearer x` also `x`. The longest first, so that none leaves a rest. */
function needlesOf(secrets: Secrets): readonly string[] {
  const parts = Object.values(secrets).flatMap((secret) => [secret, ...secret.split(/\s+/)]);
  return [...new Set(parts)].filter((part) => part.length >= secretLengthMin).sort((a, b) => b.length - a.length);
}

/** A server that says again what it was sent tells it to whoever may call a tool. */
function without(needles: readonly string[], value: unknown): unknown {
  if (needles.length === 0) return value;
  const hide = (text: string): string => needles.reduce((rest, needle) => rest.replaceAll(needle, '***'), text);
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') return hide(one);
    if (Array.isArray(one)) return one.map(walk);
    return isObject(one) ? Object.fromEntries(Object.entries(one).map(([key, child]) => [hide(key), walk(child)])) : one;
  };
  return walk(value);
}

/** Itself, or `{cut, text}`: what of its text, or of its JSON, fits. */
function bounded(output: unknown): unknown {
  const json = JSON.stringify(output);
  const bytes = Buffer.byteLength(json);
  if (bytes <= outputBytesMax) return output;
  const cut = `the tool answered ${bytes} bytes of JSON; its beginning follows, up to ${outputBytesMax}`;
  const room = outputBytesMax - Buffer.byteLength(JSON.stringify({ cut, text: '' }));
  return { cut, text: beginningOf(typeof output === 'string' ? output : json, room) };
}

/** As much of a text as makes at most so many bytes of JSON. */
function beginningOf(text: string, bytesMax: number): string {
  let end = Math.min(text.length, bytesMax);
  for (;;) {
    const beginning = text.slice(0, end).replace(/[\ud800-\udbff]$/, '');
    const bytes = Buffer.byteLength(JSON.stringify(beginning)) - 2;
    if (bytes <= bytesMax) return wholeWords(beginning);
    // In proportion, and always less: nearly as much as fits, after a few looks.
    end = Math.min(end - 1, Math.floor((end * bytesMax) / bytes));
  }
}

function wholeWords(text: string): string {
  const lastWord = /\s\S*$/.exec(text.slice(-wordLengthMax));
  return lastWord === null ? text : text.slice(0, text.length - lastWord[0].length);
}
