// Serves the console: static files that `console/` builds. Without them everything else works, and `/console/` tells
// how to build them.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';

const prefix = '/console/';
const nonceWords = '__CSP_NONCE__';
const hidden = { schema: { hide: true }, config: { takesNoTurn: true } } as const;

/** Returns the folder of the built console. It may not exist. Null: the package is not installed. */
export function consoleFolder(): string | null {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('@tollgate/console/package.json')), 'dist');
  } catch {
    return null;
  }
}

export const isConsoleBuilt = (folder: string | null): boolean => folder !== null && existsSync(join(folder, 'index.html'));

/** `folder`: the built console; null: it is not installed. */
export async function addConsole(app: FastifyInstance, folder: string | null): Promise<void> {
  app.get('/console', hidden, async (_request, reply) => reply.redirect(prefix, 308));
  const page = folder === null ? null : await readFile(join(folder, 'index.html'), 'utf8').catch(() => null);
  if (folder === null || page === null) {
    for (const path of [prefix, `${prefix}*`]) app.get(path, hidden, async (_request, reply) => answerUnbuilt(reply));
    return;
  }
  // The names of these files contain a hash of their content.
  await app.register(fastifyStatic, {
    root: join(folder, 'assets'),
    prefix: `${prefix}assets/`,
    wildcard: false,
    immutable: true,
    maxAge: '365d',
    decorateReply: false,
    setHeaders: (response) => void response.setHeader('X-Content-Type-Options', 'nosniff'),
  });
  const icon = await readFile(join(folder, 'icon.svg'));
  app.get(`${prefix}icon.svg`, hidden, async (_request, reply) =>
    reply
      .type('image/svg+xml')
      .header('Cache-Control', 'public, max-age=86400')
      .header('Content-Security-Policy', "default-src 'none'")
      .send(icon),
  );
  // The page itself reads the rest of its address.
  for (const path of [prefix, `${prefix}*`]) {
    app.get(path, hidden, async (_request, reply) => {
      const nonce = randomBytes(16).toString('base64');
      return reply
        .type('text/html; charset=utf-8')
        .header('Cache-Control', 'no-store')
        .header('Content-Security-Policy', policyWith(nonce))
        .header('Referrer-Policy', 'no-referrer')
        .header('X-Content-Type-Options', 'nosniff')
        .send(page.replaceAll(nonceWords, nonce));
    });
  }
}

/** No script but our own files, and no request to another host. The nonce is for the styles that the page adds itself. */
const policyWith = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

const answerUnbuilt = (reply: FastifyReply): FastifyReply =>
  reply
    .code(503)
    .type('text/plain; charset=utf-8')
    .send('The console is not built here. Build it with `npm run console` in the checkout, and start the control plane again.\n');
