// Routes of the audit log: tool calls as pages, as a live stream and as a whole export, and the events of the
// administration.
import { unreachable } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { badRequest } from '../../base/refusal.ts';
import { type AdminEvent, type EventPosition, eventIdOf, listEvents } from '../operations/list-events.ts';
import { listLogKeys, makeCheckpoint, readCheckpoint } from '../operations/checkpoint.ts';
import { exportAudit } from '../operations/export-audit.ts';
import { exportChain } from '../operations/export-chain.ts';
import { listGaps } from '../operations/list-gaps.ts';
import { queryAudit } from '../operations/query-audit.ts';
import { createTailAudit, type TailItem } from '../operations/tail-audit.ts';
import { parseSigningKeyCursor } from '../rules/signing-key.ts';
import type { StreamDeps } from '../../http/deps.ts';
import { limitOf, limitOrAll, positionOf } from '../../http/page-limit.ts';
import { addRoute } from '../../http/route.ts';
import { addStream } from '../../http/stream-route.ts';
import {
  dateTime,
  entryEventRef,
  entryRef,
  eventRef,
  integer,
  inWorkspace,
  listOf,
  object,
  pageCursor,
  pageLimit,
  pageQuery,
  shownAs,
  text,
  wholeOrPage,
  wholeOrPageQuery,
  word,
} from '../../http/shapes.ts';
import { addCallRoute } from './calls.ts';

const filters = {
  tool: Type.Optional(Type.String({ description: 'exact tool name' })),
  decision: Type.Optional(shownAs(word(['allow', 'deny']))),
  agent: Type.Optional(Type.String({ description: 'exact agent name' })),
  sub: Type.Optional(Type.String()),
  session: Type.Optional(Type.String()),
  reason: Type.Optional(Type.String({ description: 'exact code of the reason, such as `policy_denied`' })),
};

const auditQuery = Type.Object({
  since: Type.Optional(shownAs({ ...dateTime, description: 'default: 15 minutes before now' })),
  until: Type.Optional(shownAs({ ...dateTime, description: 'exclusive' })),
  limit: Type.Optional(pageLimit),
  cursor: Type.Optional(pageCursor),
  ...filters,
});

const exportQuery = Type.Object({
  since: Type.Optional(shownAs({ ...dateTime, description: 'default: everything that is kept' })),
  until: Type.Optional(shownAs({ ...dateTime, description: 'exclusive' })),
  ...filters,
});

const lastEventId = Type.Object({
  'last-event-id': Type.Optional(Type.String({ description: 'the `id` of the last event received; the stream continues after it' })),
});

const chainQuery = Type.Object(
  { after: Type.Optional(shownAs({ ...integer, description: 'the size of a checkpoint that you have; default: all that is kept' })) },
  { additionalProperties: false },
);
const checkpointQuery = Type.Object(
  { size: Type.Optional(shownAs({ ...integer, description: 'of exactly so many items; default: the newest' })) },
  { additionalProperties: false },
);
const checkpointAnswer = object({
  size: { ...integer, description: 'how many items of the log it covers' },
  checkpoint: { ...text, description: 'a C2SP signed note' },
});

const gap = object({
  n: { ...integer, description: 'the number of the item in the log, as in the export of the chain' },
  spoolId: { ...text, description: 'the spool whose records are missing; ids of entries begin with it' },
  firstSequence: integer,
  lastSequence: integer,
  records: { ...integer, description: 'how many are missing: from `firstSequence` to `lastSequence`, both inclusive' },
  reason: { ...text, description: 'why, in the words of the sidecar or of the control plane' },
  receivedAt: { ...dateTime, description: 'when the loss became known, which is after the calls' },
});

export function addAuditRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addEntryRoutes(app, deps);
  addCallRoute(app, deps);
  addChainRoutes(app, deps);
  addGapRoute(app, deps);
  addEventRoutes(app, deps);
}

/** Reads tool calls: as pages, as a live stream, and all of them. */
function addEntryRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit',
    id: 'queryAudit',
    tag: 'Audit',
    summary: 'Reads governed tool calls, newest first',
    description: '`next` is absent on the last page.',
    answers: object({ entries: listOf(entryRef), count: integer, since: dateTime, limit: integer }, { next: text }),
    operation: queryAudit,
    schema: { params: inWorkspace, querystring: auditQuery },
    // The operation rejects unknown parameters with an error that names them.
    input: ({ query }) => ({ ...query }),
    answer: (page) => page,
  });
  addStream(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/stream',
    id: 'tailAudit',
    tag: 'Audit',
    summary: 'Streams governed tool calls as they arrive',
    description:
      'The stream begins with the comment `: listening`. Entries that arrive after that are sent in the order of arrival, also entries of earlier calls. The stream ends when its key is revoked.',
    answers: {
      mediaType: 'text/event-stream',
      text: '`event: entry`, `id: <place in the ingest sequence>`, an AuditEntry as one line of `data`',
      event: entryEventRef,
    },
    operation: createTailAudit(),
    schema: { params: inWorkspace, querystring: Type.Object(filters), headers: lastEventId },
    input: ({ query, headers }) => ({ parameters: { ...query }, lastEventId: headers['last-event-id'] }),
    frame: eventOf,
  });
  addStream(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/export',
    id: 'exportAudit',
    tag: 'Audit',
    summary: 'Exports governed tool calls, in the order of arrival',
    description:
      'Up to the newest entry at the time of the request. An answer that cannot be completed is cut off and does not end normally.',
    answers: { mediaType: 'application/x-ndjson', text: 'an AuditEntry a line' },
    operation: exportAudit,
    schema: { params: inWorkspace, querystring: exportQuery },
    input: ({ query }) => ({ ...query }),
    frame: (entry) => `${JSON.stringify(entry)}\n`,
  });
}

/** Reads what proves that the log was not changed: its chain, its checkpoints and its keys. */
function addChainRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addStream(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/chain',
    id: 'exportChain',
    tag: 'Audit',
    summary: 'Exports the log as its hash chain, for `tollgate audit verify`',
    description:
      'Entries and gaps in the order of arrival, each with its number and the value of the chain after it, up to a checkpoint that is made for this request. An answer that cannot be completed is cut off and does not end normally.',
    answers: { mediaType: 'application/x-ndjson', text: 'a heading, items `{n, chain, entry | gap | retired}`, and the checkpoint' },
    refusals: ['conflict'],
    operation: exportChain,
    schema: { params: inWorkspace, querystring: chainQuery },
    input: ({ query }) => query.after ?? null,
    frame: (line) => `${line}\n`,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/checkpoint',
    id: 'readCheckpoint',
    tag: 'Audit',
    summary: 'Reads a checkpoint that was made before',
    answers: checkpointAnswer,
    refusals: ['not_found'],
    operation: readCheckpoint,
    schema: { params: inWorkspace, querystring: checkpointQuery },
    input: ({ query }) => query.size ?? null,
    answer: (checkpoint) => checkpoint,
  });
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/audit/checkpoint',
    id: 'makeCheckpoint',
    tag: 'Audit',
    summary: 'Makes a checkpoint of everything that has arrived',
    description:
      'Keep it where people who can write to the database cannot change it: everything that it covers can later be checked against it.',
    answers: checkpointAnswer,
    refusals: ['conflict'],
    operation: makeCheckpoint,
    schema: { params: inWorkspace },
    input: () => null,
    answer: (checkpoint) => checkpoint,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/keys',
    id: 'listLogKeys',
    tag: 'Audit',
    summary: 'Lists the public keys that checkpoints may be signed by, oldest first',
    description: wholeOrPage,
    answers: object(
      {
        origin: { ...text, description: 'which log' },
        keys: listOf(object({ key: { ...text, description: 'a C2SP verifier key' }, since: dateTime })),
      },
      { next: text },
    ),
    operation: listLogKeys,
    schema: { params: inWorkspace, querystring: wholeOrPageQuery },
    input: ({ query }) => ({ limit: limitOrAll(query.limit), after: positionOf(query.cursor, parseSigningKeyCursor) }),
    answer: (keys) => keys,
  });
}

/** Says where entries are missing. */
function addGapRoute(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/audit/gaps',
    id: 'listGaps',
    tag: 'Audit',
    summary: 'Lists where entries are missing in the log, newest first',
    description: `A gap is an item of the log for records of a sidecar that never arrived, such as entries that became unreadable on its disk. What is
not in the log yet is in the answer of \`GET …/admin/sidecars\`: \`spool\` waits, \`refused\` is not taken, \`unrecorded\` was never written. That
items were removed from the database afterwards only the check of an export against a checkpoint shows. \`next\` is absent on the last page.`,
    answers: object({ gaps: listOf(gap), count: integer }, { next: text }),
    operation: listGaps,
    schema: { params: inWorkspace, querystring: pageQuery },
    input: ({ query }) => ({ limit: limitOf(query.limit ?? '200'), before: query.cursor === undefined ? null : itemOf(query.cursor) }),
    answer: ({ gaps, ...rest }) => ({
      gaps: gaps.map((one) => ({ ...one, records: one.lastSequence - one.firstSequence + 1 })),
      count: gaps.length,
      ...rest,
    }),
  });
}

function itemOf(cursor: string): number {
  if (!/^\d{1,15}$/.test(cursor)) throw badRequest('cursor must be the `next` of an earlier answer');
  return Number(cursor);
}

function addEventRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/events',
    id: 'listEvents',
    tag: 'Audit',
    summary: 'Reads who changed what, newest first',
    answers: object({ events: listOf(eventRef), count: integer }, { next: text }),
    operation: listEvents,
    schema: { params: inWorkspace, querystring: pageQuery },
    input: ({ query }) => ({ limit: limitOf(query.limit ?? '200'), before: query.cursor === undefined ? null : beforeOf(query.cursor) }),
    answer: ({ events, ...rest }) => ({ events: events.map(shownEvent), count: events.length, ...rest }),
  });
}

/**
 * A note also has an `id`. There can be entries before the note that the client's filters exclude. A client that
 * reconnects with the id of the note continues after these entries.
 */
function eventOf(item: TailItem): string {
  switch (item.kind) {
    case 'note':
      return `: ${item.text}\nid: ${item.ingest}\n\n`;
    case 'entry':
      return `event: entry\nid: ${item.ingest}\ndata: ${JSON.stringify(item.entry)}\n\n`;
    default:
      return unreachable(item);
  }
}

function beforeOf(text: string): EventPosition {
  const [, revision, position] = /^(\d{1,15})\.(\d{1,9})$/.exec(text) ?? [];
  if (revision === undefined || position === undefined) throw badRequest('cursor must be the `next` of an earlier answer');
  return { revision: Number(revision), position: Number(position) };
}

const shownEvent = ({ at, position, ...event }: AdminEvent) => ({
  id: eventIdOf({ revision: event.revision, position }),
  ...event,
  at: at.toISOString(),
});
