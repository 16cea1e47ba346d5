// How an answer is looked at as it comes, piece by piece: not at all, for its digest, or for what must not go on or not be
// kept. None holds more than a piece, what of a text could still become part of a finding, and what of it could be JSON.
import { createHash } from 'node:crypto';
import type { Finding } from '@tollgate/proto/contract';
import { byKind } from '../../govern/payload.ts';
import type { Numbers, Redactor } from '../../redact/index.ts';
import { jsonInText } from './json-in-text.ts';

export interface Looked {
  /** SHA-256 in hex of what is kept; null where there is nothing to tell of. */
  readonly digest: string | null;
  readonly findings: readonly Finding[];
}

/** Looks at what comes, piece by piece. */
export interface Look {
  push(chunk: Uint8Array): Uint8Array;
  end(): Uint8Array;
  told(): Looked;
}

const nothing = new Uint8Array(0);

export const unread: Look = { push: (chunk) => chunk, end: () => nothing, told: () => ({ digest: null, findings: [] }) };

export function bytesLook(): Look {
  const digest = createHash('sha256');
  let told: Looked | null = null;
  return {
    push: (chunk) => {
      digest.update(chunk);
      return chunk;
    },
    end: () => nothing,
    told: () => (told ??= { digest: digest.digest('hex'), findings: [] }),
  };
}

/** After what a text may go out whole, because nothing reaches further: an event, a line of JSON. */
const boundaryOf = (essence: string): RegExp | null =>
  essence === 'text/event-stream'
    ? /\r\n\r\n|\n\r?\n|\r\r/g
    : /^application\/(?:x-)?(?:ndjson|jsonl|jsonlines)$/.test(essence)
      ? /\n/g
      : null;

/** Throws where it is no text: other bytes than UTF-8 have, or NUL, as in UTF-16. */
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
    if (text.includes('\u0000')) throw new TypeError('NUL is in no text');
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

/** The answer goes on as it is; what is kept of it is what the look would have left. */
export function besides(look: Look): Look {
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
