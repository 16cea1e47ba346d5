// Converts the answer of a tool to JSON that a model can read and that can be stored. The JSON has at most
// `outputBytesMax` bytes. Content that is not text is replaced by its type and size. The secrets that were sent to the
// server are removed.
import { isDeepStrictEqual } from 'node:util';
import { cleanJson } from '../../base/clean-json.ts';
import { isObject } from '@tollgate/proto/shape';
import type { Secrets } from '../../tool-servers/rules/tool-server.ts';
import type { ToolResult } from '../tools/tool.ts';

const outputBytesMax = 1_048_576;
/**
 * The minimum length of the secrets that are removed. A shorter secret may also occur in the answer as an ordinary
 * word.
 */
const secretLengthMin = 8;
/** How far back a cut searches for whitespace, in characters, so that it does not split a word. */
const wordLengthMax = 1_024;

/** The fields of an answer in the protocol. Their types are unknown, because a server may send any values in them. */
export interface ToolAnswer {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: unknown;
}

/**
 * Returns the result of a call. `brokenPromise` says in words how the answer violates the tool's `outputSchema`; null:
 * it does not violate it. If `brokenPromise` is not null, the result is an error that also contains the answer.
 */
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
  // The protocol asks servers to repeat the structured content as text, for older clients. Such a repetition is left
  // out here.
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

/**
 * Returns the texts to remove: each whole secret and each of its parts between whitespace. For `Bearer x` the parts
 * include `x`. The longest text is removed first, so that no rest of a secret is left.
 */
function needlesOf(secrets: Secrets): readonly string[] {
  const parts = Object.values(secrets).flatMap((secret) => [secret, ...secret.split(/\s+/)]);
  return [...new Set(parts)].filter((part) => part.length >= secretLengthMin).sort((a, b) => b.length - a.length);
}

/**
 * Returns the value without the secrets. Otherwise a server that repeats the secrets it received would reveal them to
 * everyone who may call a tool.
 */
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

/**
 * Returns the output. If its JSON is too long, returns `{cut, text}`. `text` is the beginning of the output if the
 * output is a text, and otherwise the beginning of its JSON.
 */
function bounded(output: unknown): unknown {
  const json = JSON.stringify(output);
  const bytes = Buffer.byteLength(json);
  if (bytes <= outputBytesMax) return output;
  const cut = `the tool answered ${bytes} bytes of JSON; its beginning follows, up to ${outputBytesMax}`;
  const bytesLeft = outputBytesMax - Buffer.byteLength(JSON.stringify({ cut, text: '' }));
  return { cut, text: beginningOf(typeof output === 'string' ? output : json, bytesLeft) };
}

/** Returns the beginning of a text whose JSON has at most `bytesMax` bytes. */
function beginningOf(text: string, bytesMax: number): string {
  let end = Math.min(text.length, bytesMax);
  for (;;) {
    const beginning = text.slice(0, end).replace(/[\ud800-\udbff]$/, '');
    const bytes = Buffer.byteLength(JSON.stringify(beginning)) - 2;
    if (bytes <= bytesMax) return wholeWords(beginning);
    // Shortens the text in proportion to the excess, by at least 1 character. A few steps reach nearly the largest
    // length that fits.
    end = Math.min(end - 1, Math.floor((end * bytesMax) / bytes));
  }
}

function wholeWords(text: string): string {
  const lastWord = /\s\S*$/.exec(text.slice(-wordLengthMax));
  return lastWord === null ? text : text.slice(0, text.length - lastWord[0].length);
}
