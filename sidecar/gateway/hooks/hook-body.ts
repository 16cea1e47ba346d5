// The body of a hook request, read so that no other parser reads it differently: strictly, before anything else looks at it.
import { AppError, bounds } from '@tollgate/proto/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseStrict } from '../strict-json.ts';

/** Makes these routes, and no others, read their bodies so. */
export function readStrictly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, ({ headers }: FastifyRequest, bytes: Buffer, done) => {
    const read = isUtf8(headers['content-type'] ?? '') ? readHookBody(bytes) : notUtf8();
    if (read instanceof AppError) done(read);
    else done(null, read.value);
  });
}

// An input may be as deep as any; the body is one level around it.
const limits = { depth: bounds.jsonDepth + 1 };

function readHookBody(bytes: Buffer): { readonly value: unknown } | AppError {
  const read = parseStrict(bytes, limits);
  if ('problem' in read) return badBody(read.problem);
  if (mayName(bytes) && JSON.stringify(read.value).includes('"__proto__":')) return badBody('has a key "__proto__", which is not allowed');
  return read;
}

const notUtf8 = (): AppError => new AppError({ code: 'unsupported_media', publicMessage: 'the body must be application/json in UTF-8' });

const badBody = (problem: string): AppError => new AppError({ code: 'bad_request', publicMessage: `the body ${problem}` });

/** As it is, or with escapes. */
const mayName = (bytes: Buffer): boolean => bytes.includes('__proto__') || bytes.includes('\\u');

/** JSON is UTF-8; who says something else means something else. */
function isUtf8(contentType: string): boolean {
  if (contentType === 'application/json') return true;
  const charsets = [...contentType.matchAll(/;\s*charset\s*=\s*"?([^\s";]*)/gi)];
  return charsets.every(([, charset = '']) => /^utf-?8$/i.test(charset));
}
