// Handles a server's answer in one of four ways: returns it to the caller unchanged, as a stream of redacted text, or
// as redacted JSON, or blocks it. Of a stream only one piece is kept in memory. JSON is kept as a whole, up to its size
// limit. The outcome is recorded before the last piece is sent.
import { createHash } from 'node:crypto';
import { type Finding, overBudgetKind } from '@tollgate/proto/contract';
import type { Decision } from '../../engine/decide/decision.ts';
import { refuse } from '../../engine/decide/refusal.ts';
import { byKind } from '../../engine/govern/payload.ts';
import type { OutputLook } from '../../engine/govern/streamed.ts';
import type { Numbers, Redactor } from '../../engine/redact/index.ts';
import { formOf, isUtf8, parseContentType } from './body.ts';
import { isJsonText, jsonLengthMax } from './json-in-text.ts';
import { bytesLook, type Look, type LookResult, textLook, unchangedLook, unread } from './look.ts';

export interface AnswerOutcome extends LookResult {
  readonly blocked: Decision | null;
  /** True: the answer ended early. */
  readonly broken?: true;
}

/** Records the outcome. Resolves to true if the rest of the answer, which is held back until then, may be sent. */
export type Tell = (told: AnswerOutcome) => Promise<boolean>;

export type Treatment =
  | { readonly kind: 'pass'; readonly look: Look }
  | { readonly kind: 'json'; readonly redactor: Redactor }
  | { readonly kind: 'stream'; readonly look: Look }
  | { readonly kind: 'block'; readonly decision: Decision };

interface AnswerHead {
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** False: the answer has no body, so there is nothing to inspect. */
  readonly hasBody: boolean;
}

/** Chooses how to treat an answer, from the headers of the answer. */
export function treatmentOf({ redactor, replaces }: OutputLook, numbers: Numbers, head: AnswerHead): Treatment {
  if (redactor === null || !head.hasBody) return { kind: 'pass', look: bytesLook() };
  const type = parseContentType(head.contentType);
  const encoded = head.contentEncoding !== undefined && head.contentEncoding.toLowerCase() !== 'identity';
  const form = type == null ? 'opaque' : formOf(type.essence);
  const unreadable = encoded ? 'is compressed' : form === 'opaque' ? 'is no text' : isUtf8(type?.charset) ? null : 'is not UTF-8';
  if (unreadable !== null) {
    const words = `policy redacts the output, but the output ${unreadable}`;
    return replaces ? { kind: 'block', decision: refuse('redaction_unsupported', words) } : { kind: 'pass', look: unread };
  }
  if (replaces && form === 'json') return { kind: 'json', redactor };
  const look = textLook(redactor, numbers, type?.essence ?? '');
  return replaces ? { kind: 'stream', look } : { kind: 'pass', look: unchangedLook(look) };
}

/** Yields the pieces to send. If the server or the caller ends the stream early, the answer is recorded as broken. */
export async function* streamed(body: AsyncIterable<Uint8Array>, look: Look, tell: Tell): AsyncGenerator<Uint8Array> {
  let told = false;
  let blocked: Decision | null = null;
  try {
    for await (const chunk of body) {
      const out = pushed(look, chunk);
      blocked = out === null ? noText : null;
      if (out === null) throw new Error(noText.reason);
      if (out.byteLength > 0) yield out;
    }
    const rest = ended(look);
    blocked = rest === null ? noText : null;
    if (rest === null) throw new Error(noText.reason);
    told = true;
    if (!(await tell({ ...look.told(), blocked: null })))
      throw new Error('the rest of the answer is not sent, because the outcome of the call could not be recorded');
    if (rest.byteLength > 0) yield rest;
  } finally {
    if (!told) await tell({ ...look.told(), blocked, broken: true });
  }
}

/** The decision for a body that is not valid text. */
export const noText = refuse(
  'redaction_unsupported',
  'policy redacts the output, but the output is not valid text of its content type and encoding',
);

/** Inspects a complete answer and returns the bytes to send. Null: the answer is not text. */
export function lookedThrough(look: Look, bytes: Uint8Array): Uint8Array | null {
  const out = pushed(look, bytes);
  const rest = out === null ? null : ended(look);
  if (out === null || rest === null) return null;
  return rest.byteLength === 0 ? out : Buffer.concat([out, rest]);
}

function pushed(look: Look, chunk: Uint8Array): Uint8Array | null {
  try {
    return look.push(chunk);
  } catch {
    return null;
  }
}

function ended(look: Look): Uint8Array | null {
  try {
    return look.end();
  } catch {
    return null;
  }
}

/** The redacted JSON. Null: the body is not text. */
type ReadJson = (LookResult & { readonly bytes: Uint8Array }) | null;

/**
 * Returns the redacted JSON. Everything else in it stays as it was written. A body that is labelled as JSON but is not
 * JSON is redacted as text. Null: it is not text. Undefined: it ended early.
 */
export async function redactedJson(body: AsyncIterable<Uint8Array>, redactor: Redactor, numbers: Numbers): Promise<ReadJson | undefined> {
  const bytes = await allOf(body);
  if (bytes === undefined) return undefined;
  if (bytes === null) return toldOf(JSON.stringify(`[redacted:${overBudgetKind}]`), [{ kind: overBudgetKind, count: 1 }]);
  const text = textOf(bytes);
  if (text === null) return null;
  if (isJsonText(text)) {
    const redacted = redactor.redactJson(text, numbers);
    return toldOf(redacted.text, byKind(redacted.findings));
  }
  const look = textLook(redactor, numbers, 'text/plain');
  const out = lookedThrough(look, bytes);
  return out === null ? null : { ...look.told(), bytes: out };
}

/** Returns the whole body. Null: it is larger than the limit for JSON. Undefined: it ended early. */
async function allOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array | null | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      size += chunk.byteLength;
      if (size > jsonLengthMax) return null;
      chunks.push(chunk);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks);
}

function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Returns whether the body is empty. Returns false also if it ended early. */
export async function isEmpty(body: AsyncIterable<Uint8Array>): Promise<boolean> {
  try {
    for await (const chunk of body) if (chunk.byteLength > 0) return false;
    return true;
  } catch {
    return false;
  }
}

function toldOf(text: string, findings: readonly Finding[]) {
  const bytes = Buffer.from(text);
  return { bytes, digest: createHash('sha256').update(bytes).digest('hex'), findings };
}
