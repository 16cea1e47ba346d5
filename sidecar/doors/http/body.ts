// Converts the body of a request to the input of a call. JSON becomes its value, a form becomes its fields, and text
// stays text. For any other body the input contains only the size and the digest. Redaction cannot read such a body, so
// it is refused if the policy redacts.
import { createHash } from 'node:crypto';
import { bounds, canonicalJson } from '@tollgate/proto/contract';
import { parseStrict } from '../../engine/json/strict-json.ts';
import { isJsonText } from './json-in-text.ts';
import { isPairs, pairsText, parsePairs } from './target.ts';

/** A body that is forwarded unchanged. The input contains only its size and digest. */
class OpaqueBody extends Uint8Array {
  toJSON(): object {
    return { bytes: this.byteLength, sha256: createHash('sha256').update(this).digest('hex') };
  }
}

export interface Body {
  readonly form: 'none' | 'json' | 'lines' | 'fields' | 'text' | 'opaque';
  /** The content type of the forwarded body. */
  readonly contentType: string;
  /** The body as it appears in the input of the call. */
  readonly value: unknown;
}

export interface BadBody {
  readonly status: 400 | 415;
  readonly problem: string;
}

const noBody: Body = { form: 'none', contentType: '', value: undefined };

/** Parses the body. Returns the body, or its problem. */
export function readBody(bytes: Uint8Array, contentType: string | undefined): Body | BadBody {
  const type = parseContentType(contentType);
  if (type === null) return unsupported('the content type is not one that can be read');
  if (bytes.byteLength === 0) return noBody;
  if (type === undefined) return { form: 'opaque', contentType: 'application/octet-stream', value: new OpaqueBody(bytes) };
  const form = formOf(type.essence);
  if (form === 'opaque') return { form, contentType: type.text, value: new OpaqueBody(bytes) };
  if (!isUtf8(type.charset)) return unsupported('the body must be UTF-8');
  if (form === 'json') return readJson(bytes, type.essence);
  return isLines.test(type.essence) ? readLines(bytes, type.essence) : readText(bytes, form, type.essence);
}

function readJson(bytes: Uint8Array, contentType: string): Body | BadBody {
  const parsed = parseStrict(bytes);
  return 'problem' in parsed ? malformed(`the body ${parsed.problem}`) : { form: 'json', contentType, value: parsed.value };
}

function readText(bytes: Uint8Array, form: 'fields' | 'text', essence: string): Body | BadBody {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return malformed('the body is not UTF-8');
  }
  if (text.includes('\u0000')) return malformed('the body holds NUL, which is in no UTF-8 text');
  // Redaction reads a text literally, or as JSON if the whole text is JSON. An escape such as `\u0067` in any other
  // text could hide a secret, so that text is treated as opaque bytes.
  if (form === 'text' && asciiEscape.test(text) && !isJsonText(text))
    return { form: 'opaque', contentType: `${essence}; charset=utf-8`, value: new OpaqueBody(bytes) };
  if (form === 'text') return { form, contentType: `${essence}; charset=utf-8`, value: text };
  if (!/^[!-~]*$/.test(text)) return malformed('the form holds a character that must be escaped');
  const fields = parsePairs(text, bounds.jsonNodes);
  return 'problem' in fields ? malformed(`the form ${fields.problem}`) : { form, contentType: essence, value: fields.pairs };
}

const asciiEscape = /\\u00[2-7][0-9a-f]/i;

const isLines = /^application\/(?:(?:x-)?(?:ndjson|jsonl|jsonlines)|json-seq)$/;
// The character before each JSON text of an `application/json-seq` body, RFC 7464.
const recordSeparator = '\u001e';

/** Parses a body that has one JSON value on each line. */
function readLines(bytes: Uint8Array, essence: string): Body | BadBody {
  const values: unknown[] = [];
  const isSequence = essence === 'application/json-seq';
  let start = 0;
  while (start < bytes.byteLength) {
    const found = bytes.indexOf(10, start);
    const end = found < 0 ? bytes.byteLength : found;
    const from = isSequence && bytes[start] === recordSeparator.charCodeAt(0) ? start + 1 : start;
    const parsed = parseStrict(bytes.subarray(from, end));
    if ('problem' in parsed) return malformed(`line ${values.length + 1} of the body ${parsed.problem}`);
    values.push(parsed.value);
    if (values.length > bounds.jsonNodes) return malformed(`the body has more than ${bounds.jsonNodes} lines`);
    start = end + 1;
  }
  return { form: 'lines', contentType: essence, value: values };
}

function linesText(values: readonly unknown[], contentType: string): string {
  const before = contentType === 'application/json-seq' ? recordSeparator : '';
  return values.map((value) => `${before}${canonicalJson(value)}\n`).join('');
}

/**
 * Returns the bytes to forward, serialized from the value. Null: after redaction the value no longer fits this kind of
 * body.
 */
export function bodyBytes({ form, contentType }: Body, value: unknown): Uint8Array | null {
  switch (form) {
    case 'none':
      return new Uint8Array(0);
    case 'json':
      return Buffer.from(canonicalJson(value));
    case 'lines':
      return Array.isArray(value) ? Buffer.from(linesText(value, contentType)) : null;
    case 'fields':
      return isPairs(value) ? Buffer.from(pairsText(value)) : null;
    case 'text':
      return typeof value === 'string' ? Buffer.from(value) : null;
    case 'opaque':
      return value instanceof OpaqueBody ? value : null;
  }
}

interface ContentType {
  /** For example `application/json`, in lower case. */
  readonly essence: string;
  /** Undefined: the header names no charset. */
  readonly charset: string | undefined;
  readonly text: string;
}

const essencePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
const parameter = /^\s*([a-z0-9!#$&^_.+-]+)=(?:"([^"\\]*)"|([^\s;"]+))\s*$/i;

/** Parses the header. Undefined: there is no header. Null: it is malformed or ambiguous. */
export function parseContentType(header: string | undefined): ContentType | undefined | null {
  if (header === undefined || header === '') return undefined;
  const [first = '', ...parameters] = header.split(';');
  const essence = first.trim().toLowerCase();
  if (!essencePattern.test(essence)) return null;
  if (parameters.length === 0) return { essence, charset: undefined, text: header };
  const known = new Map<string, string>();
  for (const text of parameters) {
    const [, name, quoted, plain] = parameter.exec(text) ?? [];
    if (name === undefined || known.has(name.toLowerCase())) return null;
    known.set(name.toLowerCase(), quoted ?? plain ?? '');
  }
  return { essence, charset: known.get('charset')?.toLowerCase(), text: header };
}

export const isUtf8 = (charset: string | undefined): boolean =>
  charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii';

const jsonType = /^(?:(?:application|text)\/(?:x-)?json|.+\+json)$/;
const textual =
  /^(?:text\/.+|.+\+(?:xml|yaml)|application\/(?:xml|yaml|x-yaml|toml|sql|graphql|javascript|ecmascript|x-ndjson|ndjson|jsonl|jsonlines|x-jsonlines|json-seq))$/;

/** Returns how a body of this content type is inspected. */
export function formOf(essence: string): 'json' | 'fields' | 'text' | 'opaque' {
  if (jsonType.test(essence)) return 'json';
  if (essence === 'application/x-www-form-urlencoded') return 'fields';
  return textual.test(essence) ? 'text' : 'opaque';
}

const unsupported = (problem: string): BadBody => ({ status: 415, problem });
const malformed = (problem: string): BadBody => ({ status: 400, problem });
