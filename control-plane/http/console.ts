// Serves the console: static files that `console/` builds. Without them, or with a part of them, everything else works, and
// `/console/` says what is missing and how to build it. `/` leads to `/console/`.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
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

interface Built {
  readonly root: string;
  readonly page: string;
  readonly icon: Buffer;
}

/** Reads the build. Returns what is missing, in words, if it is not whole: a build that was interrupted left a part of it. */
function readBuilt(folder: string | null): Built | string {
  if (folder === null) return 'the package @tollgate/console is not installed';
  let reading = 'index.html';
  const read = (name: string): Buffer => {
    reading = name;
    return readFileSync(join(folder, name));
  };
  try {
    const page = read(reading).toString();
    for (const [, asset = ''] of page.matchAll(assetForm)) read(join('assets', asset));
    return { root: join(folder, 'assets'), page, icon: read('icon.svg') };
  } catch {
    return `dist/${reading} cannot be read`;
  }
}

/** The files that the page itself names. */
const assetForm = /"\/console\/assets\/([\w.-]+)"/g;

export const isConsoleBuilt = (folder: string | null): boolean => typeof readBuilt(folder) !== 'string';

/** `folder`: the built console; null: it is not installed. */
export async function addConsole(app: FastifyInstance, folder: string | null): Promise<void> {
  app.get('/', hidden, async (_request, reply) => reply.redirect(prefix, 302));
  app.get('/console', hidden, async (_request, reply) => reply.redirect(prefix, 308));
  const built = readBuilt(folder);
  if (typeof built === 'string') {
    for (const path of [prefix, `${prefix}*`]) app.get(path, hidden, async (_request, reply) => answerUnbuilt(reply, built));
    return;
  }
  const { root, page, icon } = built;
  // The names of these files contain a hash of their content.
  await app.register(fastifyStatic, {
    root,
    prefix: `${prefix}assets/`,
    wildcard: false,
    immutable: true,
    maxAge: '365d',
    decorateReply: false,
    setHeaders: (response) => void response.setHeader('X-Content-Type-Options', 'nosniff'),
  });
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

const answerUnbuilt = (reply: FastifyReply, missing: string): FastifyReply =>
  reply
    .code(503)
    .type('text/plain; charset=utf-8')
    .header('Cache-Control', 'no-store')
    .send(
      `The console is not built here: ${missing}. Build it with \`npm run console\` in the checkout, and start the control plane again. Everything else works without it.\n`,
    );
