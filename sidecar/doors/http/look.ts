// Inspects an answer piece by piece, in one of three ways: not at all, for its digest only, or for content that must
// not be forwarded or stored. At most one piece is kept in memory, with the text that could still become part of a
// finding or of JSON.
import { createHash, type Hash, hash } from 'node:crypto';
import type { Finding } from '@tollgate/proto/contract';
import { byKind } from '../../engine/govern/payload.ts';
import type { Numbers, Redactor } from '../../engine/redact/index.ts';
import { jsonInText } from './json-in-text.ts';

export interface LookResult {
  /** SHA-256 of the answer in hex, after redaction if it is redacted. Null: nothing is reported. */
  readonly digest: string | null;
  readonly findings: readonly Finding[];
}

/** Inspects an answer piece by piece. */
export interface Look {
  push(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
  told(): LookResult;
}

const nothing = new Uint8Array(0);

export const unread: Look = { push: (chunk) => chunk, end: () => nothing, told: () => ({ digest: null, findings: [] }) };

export function bytesLook(): Look {
  // Most answers have one piece. Its digest needs no object of OpenSSL, which takes as long as the rest of this look.
  let only: Uint8Array | null = null;
  let digest: Hash | null = null;
  let told: LookResult | null = null;
  const hexDigest = (): string => (digest === null ? hash('sha256', only ?? nothing, 'hex') : digest.digest('hex'));
  return {
    push: (chunk) => {
      if (digest !== null) digest.update(chunk);
      else if (only === null) only = chunk;
      else digest = createHash('sha256').update(only).update(chunk);
      return chunk;
    },
    end: () => nothing,
    told: () => (told ??= { digest: hexDigest(), findings: [] }),
  };
}

/**
 * Returns a pattern for the positions that no finding crosses: the end of an event, or of a line of JSON. All text
 * before such a position can be sent. Null: there are no such positions.
 */
const boundaryOf = (essence: string): RegExp | null =>
  essence === 'text/event-stream'
    ? /\r\n\r\n|\n\r?\n|\r\r/g
    : /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines)$/.test(essence)
      ? /\n/g
      : null;

/**
 * Redacts an answer as text. `push` and `end` throw if the answer is not text. An answer is not text if it contains
 * bytes that are not UTF-8, or NUL, which is frequent in UTF-16.
 */
export function textLook(redactor: Redactor, numbers: Numbers, essence: string): Look {
  const boundary = boundaryOf(essence);
  const stream = redactor.openStream(numbers);
  const json = jsonInText(redactor, numbers, essence === 'text/event-stream');
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const digest = createHash('sha256');
  let tail = '';
  const out = (text: string): Uint8Array => {
    if (text === '') return nothing;
    const bytes = Buffer.from(text);
    digest.update(bytes);
    return bytes;
  };
  const read = (text: string): string => {
    if (text.includes('\u0000')) throw new TypeError('a text that contains the character NUL cannot be redacted');
    return text;
  };
  const pushText = (text: string): string => {
    if (boundary === null) return stream.push(text);
    const last = [...`${tail}${text}`.matchAll(boundary)].at(-1);
    const end = last === undefined ? 0 : last.index + last[0].length - tail.length;
    tail = `${tail}${text}`.slice(-3);
    if (end <= 0) return stream.push(text);
    return stream.push(text.slice(0, end)) + stream.flush() + stream.push(text.slice(end));
  };
  return {
    push: (chunk) => out(pushText(json.push(read(decoder.decode(chunk, { stream: true }))))),
    end: () => out(pushText(json.push(read(decoder.decode())) + json.end()) + stream.end()),
    told: () => ({ digest: digest.copy().digest('hex'), findings: byKind([...json.findings(), ...stream.findings()]) }),
  };
}

/** Forwards the answer unchanged, but reports the digest and the findings of the redacted text for storage. */
export function unchangedLook(look: Look): Look {
  let isText = true;
  const seen = (see: () => void): void => {
    try {
      if (isText) see();
    } catch {
      isText = false;
    }
  };
  return {
    push: (chunk) => {
      seen(() => look.push(chunk));
      return chunk;
    },
    end: () => {
      seen(() => look.end());
      return nothing;
    },
    told: () => (isText ? look.told() : { digest: null, findings: [] }),
  };
}
