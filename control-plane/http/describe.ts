// Builds the entry of a route in the API document from the description that the route was added with.
import { bounds, type ErrorCode } from '@tollgate/proto/contract';
import type { FastifySchema, HTTPMethods } from 'fastify';
import type { JsonSchema } from '@tollgate/proto/shape';
import { httpStatus } from '../base/errors.ts';
import { errorRef } from './shapes.ts';

export const tags = {
  Agents: 'Profiles: a model, a prompt, allowed tools and hard caps.',
  Runs: 'Executions of agents: rounds of a model and its tools. Every tool call is governed, and caps halt the run.',
  Policies: 'The four layers that govern every tool call: workspace, role, agent type, user.',
  Hooks: 'The protocol of hook clients: a decision before a tool call, and a decision on its output after it.',
  Approvals: 'Calls that a rule asks a person about: what is asked, by whom it may be answered, and the answers.',
  Audit: 'Every governed tool call, and every change of the administration.',
  Access: 'Keys, members and sessions.',
  Sidecars: 'The processes and libraries that enforce the policies: how far they are behind, and their state.',
  Tools: 'Models that agents run on, and servers that give them tools.',
  Workspaces: "For the operator, with the operator's key.",
  Health: 'For probes and monitoring; open to every client that reaches the port.',
} as const;

/** A body that is not JSON. */
export interface OtherBody {
  readonly mediaType: string;
  readonly text: string;
  /** Of a stream of events: the schema of one event, in which `data` is a value and not yet its line of JSON. */
  readonly event?: JsonSchema;
}

export interface RouteDescription {
  /** The `operationId`: a verb and a noun. */
  readonly id: string;
  readonly tag: keyof typeof tags;
  readonly summary: string;
  readonly description?: string;
  /** The body of a 200 answer, or the target of a 302 redirect. A schema: the body is JSON. */
  readonly answers: JsonSchema | OtherBody | { readonly redirects: string };
  /** Another body of a 200 answer, which the client can request. */
  readonly answersAlso?: OtherBody;
  /** The body of a 202 answer: what was asked for is not done yet. `Location` says where to read it. */
  readonly answersLater?: JsonSchema;
  /** The headers of a 200 answer and of failures after the answer has begun. */
  readonly headers?: Readonly<Record<string, JsonSchema>>;
  /** Additional error codes. The codes of authentication and of malformed requests are added automatically. */
  readonly refusals?: readonly ErrorCode[];
  /** Absent: GET. */
  readonly method?: HTTPMethods;
  /** The largest body that the route accepts; absent: the bound that all routes share. */
  readonly bodyBytes?: number;
  /**
   * The schema of a body that `rules` checks (it reports every problem with its place). The document shows this
   * schema; Fastify does not check it.
   */
  readonly shownBody?: JsonSchema;
}

const reasons: Readonly<Record<ErrorCode, string>> = {
  bad_request: 'The request is malformed; every problem is named with its place.',
  unauthenticated: 'The key is missing, malformed, unknown, revoked or expired, or the session has ended.',
  forbidden:
    'Scopes or role do not permit this, the workspace is not that of the key, or a change with a session cookie lacks X-CSRF-Token.',
  not_found: 'There is no such thing in this workspace.',
  conflict: 'The request conflicts with the current state.',
  stale_revision: 'The target of the change was changed after the revision in If-Match.',
  too_large: 'The body is larger than this operation takes.',
  unsupported_media: 'The body is not application/json.',
  rate_limited: 'Too many requests, or too many keys of this network were not valid; Retry-After says when to try again.',
  upstream_failed: 'Another server that this request depends on did not answer correctly.',
  internal: 'An internal error of this server.',
  unavailable: 'The database cannot be reached or cannot write, or the server is stopping; try again.',
};

/** Returns the schema for Fastify: the part that Fastify checks and the part that @fastify/swagger shows. */
export function describe(route: RouteDescription, checked: FastifySchema, security: readonly object[]): FastifySchema {
  const {
    id,
    tag,
    summary,
    description,
    answers,
    answersAlso,
    answersLater,
    headers,
    refusals = [],
    shownBody,
    method = 'GET',
    bodyBytes = bounds.bodyBytes,
  } = route;
  // If a body was sent, Fastify reads it, even if the route does not need a body.
  const reads = method !== 'GET' || checked.body !== undefined;
  const asks = reads || checked.querystring !== undefined || checked.params !== undefined;
  const given: readonly ErrorCode[] = [
    ...(asks ? (['bad_request'] as const) : []),
    ...(security.length > 0 ? (['unauthenticated', 'forbidden'] as const) : []),
    ...(security.some((one) => 'key' in one) ? (['rate_limited'] as const) : []),
    ...(reads ? (['too_large', 'unsupported_media'] as const) : []),
    ...refusals,
    'internal',
    'unavailable',
  ];
  const shown = shownBody === undefined ? {} : { shownBody };
  return {
    ...checked,
    ...shown,
    ...(refusals.includes('stale_revision') ? { headers: conditional } : {}),
    operationId: id,
    tags: [tag],
    summary,
    ...(description === undefined ? {} : { description }),
    security: [...security],
    response: {
      ...withHeaders({ ...success(answers, answersAlso), ...later(answersLater) }, headers),
      ...Object.fromEntries(
        given.map((code) => [httpStatus(code), refused(code, bodyBytes, begun.some((one) => one === code) ? headers : undefined)]),
      ),
    },
  } as FastifySchema;
}

const conditional = {
  type: 'object',
  properties: { 'if-match': { type: 'string', description: 'a revision: the write is refused if its target has changed since' } },
};

const later = (body: JsonSchema | undefined): Readonly<Record<string, object>> =>
  body === undefined
    ? {}
    : {
        202: {
          description: 'It is not done yet; Location says where to read it.',
          headers: { Location: { type: 'string', format: 'uri-reference' } },
          content: { 'application/json': { schema: body } },
        },
      };

function success(answers: RouteDescription['answers'], also: RouteDescription['answersAlso']): Readonly<Record<string, object>> {
  if ('redirects' in answers)
    return {
      302: { type: 'null', description: String(answers['redirects']), headers: { Location: { type: 'string', format: 'uri-reference' } } },
    };
  if (isOther(answers)) return { 200: { description: answers.text, content: { [answers.mediaType]: { schema: schemaOf(answers) } } } };
  const json = { 'application/json': { schema: answers } };
  if (also === undefined) return { 200: { description: 'Success', content: json } };
  return {
    200: {
      description: `Success; as ${also.mediaType}: ${also.text}`,
      content: { ...json, [also.mediaType]: { schema: schemaOf(also) } },
    },
  };
}

const isOther = (answers: RouteDescription['answers']): answers is OtherBody =>
  'mediaType' in answers && typeof answers['mediaType'] === 'string';

const schemaOf = ({ event }: OtherBody): JsonSchema => event ?? { type: 'string' };

/** The error codes of requests that can fail after they have begun. */
const begun = ['upstream_failed', 'internal', 'unavailable'] as const satisfies readonly ErrorCode[];

const withHeaders = (responses: Readonly<Record<string, object>>, headers: RouteDescription['headers']): object =>
  headers === undefined
    ? responses
    : Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, { ...response, headers: { ...headersOf(response), ...headers } }]),
      );

const headersOf = (response: object): object => ('headers' in response ? Object(response.headers) : {});

const refused = (code: ErrorCode, bodyBytes: number, headers: RouteDescription['headers']): object => ({
  description: code === 'too_large' ? `The body is larger than ${bodyBytes} bytes.` : reasons[code],
  content: { 'application/json': { schema: errorRef } },
  ...(headers === undefined ? {} : { headers }),
  ...(code === 'rate_limited' ? { headers: { 'Retry-After': { type: 'integer', description: 'seconds' } } } : {}),
});
