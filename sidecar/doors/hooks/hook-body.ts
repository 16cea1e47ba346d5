// Parses the body of a hook request strictly. No other code parses the body before, so the body cannot be understood in
// two different ways. A flaw in the body is part of the answer and not an error: the call is denied because of the
// flaw. The tool's name in this decision is as much of the name as could be read.
import { bounds } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import type { Flaw } from '../../engine/govern/govern.ts';
import { parseStrict } from '../../engine/json/strict-json.ts';

export interface HookBody {
  readonly value: unknown;
  /** True: `value` contains an `InexactNumber`. */
  readonly hasInexactNumbers: boolean;
  /** Null: no flaw was found yet. */
  readonly flaw: Flaw | null;
  /** The HTTP status of the answer in earlier versions, in which not every decision was answered with 200. */
  readonly formerStatus: number;
}

/** Makes only these routes keep the raw bytes of their bodies, for any content type. */
export function keepBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // The framework caches the parser of a listed content type. It would parse any other content type again at each
  // request.
  for (const type of ['application/json', '*'])
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
}

// An input may have the maximum depth, and the body adds one level.
const depth = bounds.jsonDepth + 1;

export const notJson = 'the body must be application/json in UTF-8';

/** Parses the bytes in `body`. `nodes`: the maximum number of JSON values in it. */
export function readHookBody(body: unknown, contentType: string | undefined, nodes: number): HookBody {
  if (!Buffer.isBuffer(body) || body.length === 0) return flawed('the body is empty', '');
  if (!isJson(contentType ?? '')) return flawed(notJson, toolIn(body), 415);
  const read = parseStrict(body, { depth, nodes, keepsInexact: true });
  if ('problem' in read) return flawed(`the body ${read.problem}`, toolIn(body));
  if (mayName(body) && JSON.stringify(read.value).includes('"__proto__":'))
    return flawed('the body has a key "__proto__", which is not allowed', toolIn(body));
  return { value: read.value, hasInexactNumbers: read.hasInexactNumbers === true, flaw: null, formerStatus: 400 };
}

/** Returns a body with a flaw and without content. `tool`: the tool's name, as far as it is known. */
export const unreadBody = (flaw: Flaw, formerStatus: number, tool = ''): HookBody => ({
  value: { tool_name: tool },
  hasInexactNumbers: false,
  flaw,
  formerStatus,
});

const flawed = (words: string, tool: string, formerStatus = 400): HookBody =>
  unreadBody({ code: 'call_malformed', words }, formerStatus, tool);

/** Whether the bytes may contain `__proto__`, literally or with escapes. */
const mayName = (bytes: Buffer): boolean => bytes.includes(protoBytes) || bytes.includes(escapeBytes);

const [protoBytes, escapeBytes] = [Buffer.from('__proto__'), Buffer.from('\\u')];

/** Whether the body is JSON in UTF-8. Another charset is not accepted. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  if (!/^application\/json\s*(?:;|$)/i.test(contentType)) return false;
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s";]*)/gi)];
  return charsets.every(([, charset = '']) => /^utf-?8$/i.test(charset));
}

// A tool name has at most 200 characters, and clients send it near the beginning of the body.
const searchedBytes = 65_536;
const tokenMax = 1_500;
const named = /"tool_name"\s*:\s*"((?:[^"\\]|\\.)*)/s;

/** Returns the probable tool name in bytes that are not valid JSON. Empty: none was found. */
function toolIn(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes.subarray(0, searchedBytes));
  const token = (named.exec(text)?.[1] ?? '').slice(0, tokenMax);
  try {
    return String(JSON.parse(`"${token}"`));
  } catch {
    return token;
  }
}
