// Serves the API document at `/openapi.json`, built from the schemas of the routes, and a page for reading it at
// `/docs`. That page loads nothing from other servers.
import swagger from '@fastify/swagger';
import { fastify, type FastifyInstance } from 'fastify';
import { isObject } from '@tollgate/proto/shape';
import { tags } from './describe.ts';
import { components, shownKeyword } from './shapes.ts';

const title = 'Tollgate';
const version = '2026-06-25';
const about = `The control plane of Tollgate: which agent may call which tool, for whom and how often, and what happened.

Authenticate with \`Authorization: Bearer gsk_<workspace>_<random>\`. In a path, \`{workspace}\` must be the workspace of the key.
Every answer that is not 2xx is \`{"error": "<reason>"}\`; branch on the status. Every write answers the \`revision\` that it made, every read
names the revision that it saw in \`ETag\`. Send one in \`If-Match\`, and a write is refused if its target has changed since.
Clients must tolerate unknown keys.`;

interface Circumstances {
  /** Whether the document includes the operator's routes. */
  readonly operator: boolean;
  /** The name of the cookie of sessions. */
  readonly cookie: string;
}

/** Call before the routes are added. */
export async function addApiDocument(app: FastifyInstance, { operator, cookie }: Circumstances): Promise<void> {
  for (const schema of components) app.addSchema(schema);
  // The serializer sends the whole answer of the operation. Tests check that the answer matches the document.
  app.setSerializerCompiler(() => (data: unknown) => JSON.stringify(data));
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title, version, description: about, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: '/' }],
      tags: Object.entries(tags)
        .filter(([name]) => operator || name !== 'Workspaces')
        .map(([name, description]) => ({ name, description })),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', bearerFormat: 'gsk_<workspace>_<random>' },
          ...(operator ? { operator: { type: 'http' as const, scheme: 'bearer', description: 'TOLLGATE_OPERATOR_KEY' } } : {}),
          session: {
            type: 'apiKey',
            in: 'cookie',
            name: cookie,
            description:
              'For the console. Requests that change something also need the header `X-CSRF-Token`: `csrf` of `GET /{workspace}/admin/session`.',
          },
        },
      },
    },
    refResolver: {
      buildLocalReference: (json, _base, _fragment, index) => (typeof json['$id'] === 'string' ? json['$id'] : `def-${index}`),
    },
    // Shows bodies that `rules` checks with the schema of `rules`.
    transform: ({ schema, url }) => {
      if (schema === undefined) return { schema, url };
      const { querystring, params, ...rest } = schema;
      const named = {
        ...(querystring === undefined ? {} : { querystring: asShown(querystring) }),
        ...(params === undefined ? {} : { params: asShown(params) }),
      };
      if (!('shownBody' in rest)) return { schema: { ...rest, ...named }, url };
      const { shownBody, ...others } = rest;
      return { schema: { ...others, ...named, body: shownBody }, url };
    },
  });
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  addPage(app);
}

const pagePath = '/docs';
const pageFiles = [pagePath, `${pagePath}/`, `${pagePath}/js/scalar.js`];

/**
 * Adds the page. It is read at its first request, because its script has 7 MB. The answers do not depend on the request,
 * so each is kept.
 */
function addPage(app: FastifyInstance): void {
  for (const path of pageFiles) {
    let file: Promise<PageFile> | null = null;
    app.get(path, { schema: { hide: true } }, async (_request, reply) => {
      file ??= readPage(path);
      const { status, headers, body } = await file;
      return reply.code(status).headers(headers).header('Content-Security-Policy', ownOriginOnly).send(body);
    });
  }
}

interface PageFile {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Asks the plugin that serves the page for one of its files. */
async function readPage(path: string): Promise<PageFile> {
  const { default: reference } = await import('@scalar/fastify-api-reference');
  const page = fastify();
  await page.register(reference, {
    routePrefix: pagePath,
    configuration: {
      url: '/openapi.json',
      pageTitle: `${title} API`,
      withDefaultFonts: false,
      showDeveloperTools: 'never',
      hideClientButton: true,
      telemetry: false,
      agent: { disabled: true },
    },
  });
  const { statusCode, headers, rawPayload } = await page.inject(path);
  await page.close();
  const kept = ['content-type', 'location'].flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return { status: statusCode, headers: Object.fromEntries(kept), body: rawPayload };
}

/** Returns the parameters, each with the schema that it declares for the document. */
function asShown(parameters: unknown): unknown {
  if (!isObject(parameters) || !isObject(parameters['properties'])) return parameters;
  const shown = Object.entries(parameters['properties']).map(([name, schema]) => [
    name,
    isObject(schema) && shownKeyword in schema ? schema[shownKeyword] : schema,
  ]);
  return { ...parameters, properties: Object.fromEntries(shown) };
}

/**
 * The page is third-party code. This header makes the browser block everything that the page loads from other servers
 * or sends to them.
 */
const ownOriginOnly =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";
