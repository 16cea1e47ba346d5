// Shows what was counted from the audit log, and what runs cost.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { badRequest } from '../base/refusal.ts';
import type { AppDeps } from '../http/deps.ts';
import { limitOf } from '../http/page-limit.ts';
import { addRoute } from '../http/route.ts';
import {
  clamped,
  dateTime,
  integer,
  inWorkspace,
  listOf,
  object,
  pageCursor,
  pageLimit,
  pageQuery,
  shownAs,
  text,
  word,
} from '../http/shapes.ts';
import { readDecisions, readRedactions } from './operations/read-decisions.ts';
import { readSpend } from './operations/read-spend.ts';
import { readUnknownAgents } from './operations/read-unknown-agents.ts';
import { outcomes } from '../audit/rules/outcome.ts';
import { bucketsMax, everies } from './rules/range.ts';
import { cursorWords, dimensions, parseSpendCursor, topBounds } from './rules/stats-query.ts';

const range = {
  every: Type.Optional(
    shownAs({
      ...word(everies),
      description: `default: minute for up to 3 hours, hour for up to 8 days, else day; at most ${bucketsMax} of them`,
    }),
  ),
  since: Type.Optional(
    shownAs({ ...dateTime, description: 'default: an hour before `until`; moved back to the start of its minute, hour or day' }),
  ),
  until: Type.Optional(shownAs({ ...dateTime, description: 'exclusive; default: now; moved on to the end of its minute, hour or day' })),
  top: Type.Optional(clamped(topBounds.standard, `the number of groups, 1 to ${topBounds.max}`)),
  cursor: Type.Optional(pageCursor),
};

const decisionsQuery = Type.Object({
  by: Type.Optional(shownAs({ ...word(dimensions), default: 'outcome' })),
  ...range,
  outcome: Type.Optional(shownAs(word(outcomes))),
  decision: Type.Optional(shownAs(word(['allow', 'deny']))),
  tool: Type.Optional(Type.String({ description: 'exact tool name' })),
  agent: Type.Optional(Type.String({ description: 'exact agent name' })),
  reason: Type.Optional(Type.String({ description: 'exact code, such as `policy_denied`' })),
});

const counts = { ...listOf(object({ at: dateTime, count: integer })), description: 'by time; without those that count nothing' };
const groups = object(
  {
    every: word(everies),
    since: dateTime,
    until: { ...dateTime, description: 'exclusive' },
    total: { ...integer, description: 'of all groups' },
    groups: listOf(
      object({
        value: text,
        total: integer,
        lastAt: {
          ...dateTime,
          description: 'of the newest; if calls follow after `until` in the same hour or day, it can be the start of its minute or hour',
        },
        counts,
      }),
    ),
    rest: {
      ...object({ values: { ...integer, description: 'the number of groups' }, total: integer, counts }),
      description: 'the groups after this page, as one',
    },
  },
  { next: text },
);

export function addStatisticsRoutes(app: FastifyInstance, deps: AppDeps): void {
  addCountRoutes(app, deps);
  addSpendRoute(app, deps);
}

function addCountRoutes(app: FastifyInstance, deps: AppDeps): void {
  const exact =
    'The counts are exact: they are written together with the entries, and end with them. Calls that sidecars have not delivered yet are missing.';
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/stats/decisions',
    id: 'readDecisions',
    tag: 'Audit',
    summary: 'Counts decisions over time, by outcome, decision, tool, agent or reason',
    description: `The groups with the largest totals first. ${exact} Outcomes: \`deny\`; \`limit\`: denied because there were too many calls or a cap was
reached; \`ask\`: denied because a person must approve the call first; \`redact\`: allowed, and something was redacted; \`allow\`.`,
    answers: groups,
    operation: readDecisions,
    schema: { params: inWorkspace, querystring: decisionsQuery },
    // The operation rejects unknown parameters with an error that names them.
    input: ({ query }) => ({ ...query }),
    answer: (answer) => answer,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/stats/redactions',
    id: 'readRedactions',
    tag: 'Audit',
    summary: 'Counts redacted findings over time, by their kind',
    description: `In inputs and outputs. The kinds with the largest totals first. ${exact}`,
    answers: groups,
    operation: readRedactions,
    schema: { params: inWorkspace, querystring: Type.Object(range) },
    input: ({ query }) => ({ ...query }),
    answer: (answer) => answer,
  });
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/unknownAgents',
    id: 'listUnknownAgents',
    tag: 'Audit',
    summary: 'Lists agents that called and are not registered, the one with the newest call first',
    description: `${exact} \`next\` is absent on the last page.`,
    answers: object(
      {
        since: { ...dateTime, description: 'the start of the day from which calls are counted' },
        agents: listOf(object({ name: text, calls: integer, denied: integer, firstAt: dateTime, lastAt: dateTime })),
      },
      { next: text },
    ),
    operation: readUnknownAgents,
    schema: {
      params: inWorkspace,
      querystring: Type.Object({
        since: Type.Optional(
          shownAs({ ...dateTime, description: 'default: 30 days before now; moved back to the start of its day (UTC)' }),
        ),
        limit: Type.Optional(pageLimit),
        cursor: Type.Optional(pageCursor),
      }),
    },
    input: ({ query }) => ({ ...query }),
    answer: (answer) => answer,
  });
}

const cents = { type: 'number', minimum: 0, description: 'with fractions of a cent' };

function addSpendRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/stats/spend',
    id: 'readSpend',
    tag: 'Audit',
    summary: 'Reads what runs cost today, by user and by agent',
    description:
      'The largest cost first, without what is reserved for model calls in progress. `next` is absent on the last page; a list that has ended is empty on later pages.',
    answers: object(
      {
        day: { type: 'string', format: 'date', description: 'of UTC' },
        resetsAt: dateTime,
        capCents: { ...cents, description: 'for each user, in the day' },
        users: listOf(object({ sub: text, cents })),
        agents: {
          ...listOf(object({ agentId: text, name: text, cents })),
          description:
            'of the runs that began on this day, each without the runs below it; a run from the day before counts for its user only',
        },
      },
      { next: text },
    ),
    operation: readSpend,
    schema: { params: inWorkspace, querystring: pageQuery },
    input: ({ query }) => ({ limit: limitOf(query.limit ?? '200'), page: query.cursor === undefined ? null : pageOf(query.cursor) }),
    answer: (answer) => answer,
  });
}

function pageOf(cursor: string) {
  const page = parseSpendCursor(cursor);
  if (page === null) throw badRequest(`cursor ${cursorWords}`);
  return page;
}
