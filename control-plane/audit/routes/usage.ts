// Shows the remaining quota of rate limits and caps, and what the day has cost and asked of people.
import { tiers } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { readUsage } from '../operations/read-usage.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import { dateTime, flag, integer, inWorkspace, listOf, object, orNull, text, word } from '../../http/shapes.ts';

const usageQuery = Type.Object(
  {
    sub: Type.Optional(Type.String({ description: 'whose calls: a uid or apikey:<id>' })),
    agent: Type.Optional(Type.String({ description: 'exact agent name' })),
  },
  { additionalProperties: false },
);

const limit = object({ document: text, path: text, rateLimit: integer, sub: text, tier: word(tiers), used: integer, left: integer });
const cap = object({
  sessionId: text,
  agent: text,
  agentId: text,
  sub: text,
  maxToolCalls: integer,
  toolCalls: { ...integer, description: 'attempts that count' },
  left: integer,
  since: { ...dateTime, description: 'the first attempt that was counted, at most a day ago' },
});

const cents = { type: 'number', minimum: 0 };

const spend = object({
  day: { type: 'string', format: 'date', description: 'of UTC' },
  resetsAt: dateTime,
  capCents: { ...cents, description: 'for each user, in the day' },
  users: listOf(
    object({
      sub: text,
      spentCents: cents,
      reservedCents: { ...cents, description: 'reserved for model calls in progress; the unused part is returned' },
      leftCents: cents,
    }),
  ),
});

const approvals = object({
  day: { type: 'string', format: 'date', description: 'of UTC' },
  resetsAt: dateTime,
  users: listOf(
    object({
      sub: text,
      asked: { ...integer, description: 'calls that a person was asked about' },
      approved: { ...integer, description: 'of the calls, those that as many persons approved as were needed' },
      denied: integer,
      expired: { ...integer, description: 'no one answered in time, or the approved call was not made in time' },
      used: { ...integer, description: 'calls made with an approval: uses that were claimed and not returned' },
    }),
  ),
});

export function addUsageRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/usage',
    id: 'readUsage',
    tag: 'Audit',
    summary: 'Reads what is left of rate limits and of the caps of runs, and counts approvals',
    description: `Counted from recorded entries: calls that sidecars have not delivered yet are missing, and \`asOf\` is the time when the newest entry
arrived (null: none). \`limits\`: for each caller the rules that its allowed calls of the last window count in, those with the least left
first, at most 1,000; \`tier\` is that of the rule. \`uncertain\`: calls whose entry does not show what a condition of a case read; they count in the
limits of each case that they may be. \`caps\`: runs with a call in the last hour, the latest first, at most 1,000 sessions.
\`spend\`: cost of the runs of each user today, the highest first, at most 1,000; it is exact, and \`agent\` does not
filter it. \`approvals\`: the steps of today for each user, the one with the most asks first, at most 1,000; exact, and not filtered by \`agent\` either.
An approval that was asked for yesterday and answered today counts as answered only. \`truncated\`: there were more entries than are read (100,000, within 10 s) or shown.`,
    answers: object({
      now: dateTime,
      asOf: orNull(dateTime),
      windowSeconds: integer,
      limits: listOf(limit),
      uncertain: integer,
      caps: listOf(cap),
      spend,
      approvals,
      truncated: flag,
    }),
    operation: readUsage,
    schema: { params: inWorkspace, querystring: usageQuery },
    input: ({ query }) => ({ ...query }),
    answer: (usage) => usage,
  });
}
