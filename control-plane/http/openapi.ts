// Serves the API document at `/openapi.json`, built from the schemas of the routes, and a page for reading it at
// `/docs`. That page loads nothing from other servers.
import swagger from '@fastify/swagger';
import reference from '@scalar/fastify-api-reference';
import type { FastifyInstance } from 'fastify';
import { isObject } from '@tollgate/proto/shape';
import { sessionCookieOf } from './cookies.ts';
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
  readonly publicUrl: string | null;
}

/** Call before the routes are added. */
export async function addApiDocument(app: FastifyInstance, { operator, publicUrl }: Circumstances): Promise<void> {
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
            name: sessionCookieOf(publicUrl),
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
  await app.register(reference, {
    routePrefix: '/docs',
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
  // The page is third-party code. This header makes the browser block everything that the page loads from other servers
  // or sends to them.
  app.addHook('onSend', async (request, reply) => {
    if (request.url.startsWith('/docs')) void reply.header('Content-Security-Policy', ownOriginOnly);
  });
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

const ownOriginOnly =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'";
