// The body of a hook request, read so that no other parser reads it differently: strictly, before anything else looks at it. What is
// wrong with it is part of the answer and not an error: the call is denied by that, with as much of its tool's name as could be read.
import { bounds } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import type { Flaw } from '../../govern/govern.ts';
import { parseStrict } from '../strict-json.ts';

export interface HookBody {
  readonly value: unknown;
  /** Numbers that a double would round are texts in it. */
  readonly hasNumbersAsText: boolean;
  /** Null: none was found yet. */
  readonly flaw: Flaw | null;
  /** What a request with this body and a flaw was answered before every decision was 200. */
  readonly formerStatus: number;
}

/** Makes these routes, and no others, keep the bytes of their bodies, whatever they are said to be. */
export function keepBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  // Of what is named the framework remembers the parser; it would read the words of any other type again at each request.
  for (const type of ['application/json', '*'])
    app.addContentTypeParser(type, { parseAs: 'buffer' }, (_request, bytes, done) => done(null, bytes));
}

// An input may be as deep as any; the body is one level around it.
const depth = bounds.jsonDepth + 1;

export const notJson = 'the body must be application/json in UTF-8';

/** `body`: its bytes; `nodes`: how many values it may hold. */
export function readHookBody(body: unknown, contentType: string | undefined, nodes: number): HookBody {
  if (!Buffer.isBuffer(body) || body.length === 0) return flawed('the body is empty', '');
  if (!isJson(contentType ?? '')) return flawed(notJson, toolIn(body), 415);
  const read = parseStrict(body, { depth, nodes, numbersAsText: true });
  if ('problem' in read) return flawed(`the body ${read.problem}`, toolIn(body));
  if (mayName(body) && JSON.stringify(read.value).includes('"__proto__":'))
    return flawed('the body has a key "__proto__", which is not allowed', toolIn(body));
  return { value: read.value, hasNumbersAsText: read.hasNumbersAsText === true, flaw: null, formerStatus: 400 };
}

/** Of a request whose body is not there. */
export const unreadBody = (flaw: Flaw, formerStatus: number, tool = ''): HookBody => ({
  value: { tool_name: tool },
  hasNumbersAsText: false,
  flaw,
  formerStatus,
});

const flawed = (words: string, tool: string, formerStatus = 400): HookBody =>
  unreadBody({ code: 'call_malformed', words }, formerStatus, tool);

/** As it is, or with escapes. */
const mayName = (bytes: Buffer): boolean => bytes.includes(protoBytes) || bytes.includes(escapeBytes);

const [protoBytes, escapeBytes] = [Buffer.from('__proto__'), Buffer.from('\\u')];

/** JSON is UTF-8; who says something else means something else. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  if (!/^application\/json\s*(?:;|$)/i.test(contentType)) return false;
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s";]*)/gi)];
  return charsets.every(([, charset = '']) => /^utf-?8$/i.test(charset));
}

// A name is 200 characters, and stands at the beginning in what clients send.
const searchedBytes = 65_536;
const tokenMax = 1_500;
const named = /"tool_name"\s*:\s*"((?:[^"\\]|\\.)*)/s;

/** What seems to be the name of the tool in bytes that are no JSON that can be decided on; empty: nothing does. */
function toolIn(bytes: Buffer): string {
  const text = new TextDecoder().decode(bytes.subarray(0, searchedBytes));
  const token = (named.exec(text)?.[1] ?? '').slice(0, tokenMax);
  try {
    return String(JSON.parse(`"${token}"`));
  } catch {
    return token;
  }
}
