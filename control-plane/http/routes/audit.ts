// The audit log of tool calls, and the events of the administration.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { parseLimit } from '../../domain/audit-query.ts';
import { badRequest } from '../../domain/refusal.ts';
import { type AdminEvent, listEvents } from '../../operations/list-events.ts';
import { queryAudit } from '../../operations/query-audit.ts';
import type { AppDeps } from '../deps.ts';
import { addRoute } from '../route.ts';
import { inWorkspace, pageLimit } from './shapes.ts';

const cursor = Type.String({ description: '`next` of the page before' });

const auditQuery = Type.Object({
  since: Type.Optional(Type.String({ description: 'ISO 8601 date-time; default: 15 minutes before now' })),
  limit: Type.Optional(pageLimit),
  cursor: Type.Optional(cursor),
  tool: Type.Optional(Type.String()),
  decision: Type.Optional(Type.String({ description: 'allow or deny' })),
  agent: Type.Optional(Type.String({ description: 'exact agent name' })),
  sub: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
});

const eventQuery = Type.Object({ limit: Type.Optional(pageLimit), cursor: Type.Optional(cursor) }, { additionalProperties: false });

export function addAuditRoutes(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit',
    operation: queryAudit,
    schema: { params: inWorkspace, querystring: auditQuery },
    // Unknown parameters are refused there, by name.
    input: ({ query }) => ({ ...query }),
    answer: (page) => page,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/events',
    operation: listEvents,
    schema: { params: inWorkspace, querystring: eventQuery },
    input: ({ query }) => ({ limit: limitOf(query.limit ?? '200'), before: query.cursor === undefined ? null : beforeOf(query.cursor) }),
    answer: ({ events, ...rest }) => ({ events: events.map(shownEvent), count: events.length, ...rest }),
  });
}

function limitOf(text: string): number {
  const limit = parseLimit(text);
  if (limit === null) throw badRequest('limit must be an integer');
  return limit;
}

function beforeOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badRequest('cursor must be the `next` of an earlier answer');
  return Number(text);
}

const shownEvent = ({ at, id, ...event }: AdminEvent) => ({ id: String(id), ...event, at: at.toISOString() });
