// Parses the query strings of the routes of counts, and the cursors that carry a query from page to page. Pure.
import type { Checked } from '@tollgate/proto/shape';
import { isInstant, instantWords, parseInstant } from '../../base/instant.ts';
import { createReader, decisionOf, filterText, type Parameters, parseLimit, type Reader } from '../../audit/rules/audit-query.ts';
import { type Outcome, outcomes } from '../../audit/rules/outcome.ts';
import { downTo, everies, type Range, readRange } from './range.ts';

export const dimensions = ['outcome', 'decision', 'tool', 'agent', 'reason'] as const;
export type Dimension = (typeof dimensions)[number];

export interface DecisionFilters {
  readonly outcome?: Outcome;
  readonly decision?: 'allow' | 'deny';
  readonly tool?: string;
  readonly agent?: string;
  /** The exact code. */
  readonly reason?: string;
}

/** The position of a group in the order "largest total first". */
export interface GroupPosition {
  readonly total: number;
  readonly value: string;
}

interface Page {
  readonly range: Range;
  readonly top: number;
  /** Only groups after this position. */
  readonly after: GroupPosition | null;
}

export interface DecisionsQuery extends Page {
  readonly by: Dimension;
  readonly filters: DecisionFilters;
}

export type RedactionsQuery = Page;

export const topBounds = { standard: 10, max: 50 } as const;
export const cursorWords = 'must be the `next` of an earlier answer';

export function parseDecisionsQuery(query: Parameters, now: Date): Checked<DecisionsQuery> {
  const reader = createReader(query, [...pageNames, 'by', ...dimensions]);
  const by = reader.read('by', (text) => dimensions.find((one) => one === text) ?? null, `must be ${dimensions.join(', ')}`) ?? 'outcome';
  const filters = {
    outcome: reader.read('outcome', (text) => outcomes.find((one) => one === text) ?? null, `must be ${outcomes.join(', ')}`),
    decision: reader.read('decision', decisionOf, 'must be allow or deny'),
    ...Object.fromEntries(
      (['tool', 'agent', 'reason'] as const).map((name) => [name, reader.read(name, filterText, 'must be text without NUL')]),
    ),
  };
  const given = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== null));
  return reader.checked({ ...readPage(reader, now), by, filters: given });
}

export function parseRedactionsQuery(query: Parameters, now: Date): Checked<RedactionsQuery> {
  const reader = createReader(query, pageNames);
  return reader.checked(readPage(reader, now));
}

const pageNames = ['every', 'since', 'until', 'top', 'cursor'];

function readPage(reader: Reader, now: Date): Page {
  const cursor = reader.read('cursor', parseGroupCursor, cursorWords);
  const range = readRange(reader, cursor?.range ?? null, now);
  const top = reader.read('top', parseTop, 'must be an integer') ?? topBounds.standard;
  return { range, top, after: cursor?.after ?? null };
}

function parseTop(text: string): number | null {
  const limit = parseLimit(text);
  return limit === null ? null : Math.min(limit, topBounds.max);
}

const groupCursor = /^(minute|hour|day)\.(-?\d{1,15})\.(-?\d{1,15})\.(\d{1,15})\.([^\0]*)$/s;

/** The cursor contains the range, so that a default value does not change with the clock from page to page. */
export const groupCursorOf = ({ every, since, until }: Range, { total, value }: GroupPosition): string =>
  Buffer.from(`${every}.${since.getTime()}.${until.getTime()}.${total}.${value}`).toString('base64url');

function parseGroupCursor(text: string): { readonly range: Range; readonly after: GroupPosition } | null {
  const [, every, since, until, total, value] = groupCursor.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (value === undefined || ![since, until].every((ms) => isInstant(Number(ms)))) return null;
  const range = { every: everies.find((one) => one === every) ?? 'minute', since: new Date(Number(since)), until: new Date(Number(until)) };
  return { range, after: { total: Number(total), value } };
}

/** The position of an agent in the order "newest call first". */
export interface CallerPosition {
  readonly lastAt: Date;
  readonly name: string;
}

export interface CallersQuery {
  readonly since: Date;
  readonly limit: number;
  readonly after: CallerPosition | null;
}

const callersMs = 30 * 24 * 3_600_000;
const limitStandard = 200;

export function parseCallersQuery(query: Parameters, now: Date): Checked<CallersQuery> {
  const reader = createReader(query, ['since', 'limit', 'cursor']);
  const cursor = reader.read('cursor', parseCallerCursor, cursorWords);
  const since = reader.read('since', parseInstant, instantWords) ?? cursor?.since ?? new Date(now.getTime() - callersMs);
  const limit = reader.read('limit', parseLimit, 'must be an integer') ?? limitStandard;
  return reader.checked({ since: downTo(since, 'day'), limit, after: cursor?.after ?? null });
}

const callerCursor = /^(-?\d{1,15})\.(-?\d{1,15})\.([^\0]*)$/s;

export const callerCursorOf = (since: Date, { lastAt, name }: CallerPosition): string =>
  Buffer.from(`${since.getTime()}.${lastAt.getTime()}.${name}`).toString('base64url');

function parseCallerCursor(text: string): { readonly since: Date; readonly after: CallerPosition } | null {
  const [, since, lastAt, name] = callerCursor.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (name === undefined || ![since, lastAt].every((ms) => isInstant(Number(ms)))) return null;
  return { since: new Date(Number(since)), after: { lastAt: new Date(Number(lastAt)), name } };
}

/** The position of a user or an agent in the order "largest cost first". */
export interface CostPosition {
  readonly microcents: number;
  readonly id: string;
}

/** The page of two lists: after which of each it begins. Undefined: at the first one. Null: the list has ended. */
export interface SpendPage {
  readonly day: string;
  readonly user?: CostPosition | null;
  readonly agent?: CostPosition | null;
}

const costForm = '(?:(\\d{1,15}) ([^\\0\\n]*))?';
const spendCursor = new RegExp(`^(\\d{4}-\\d{2}-\\d{2})\\n${costForm}\\n${costForm}$`);

export const spendCursorOf = ({ day, user, agent }: SpendPage): string => {
  const cost = (of: CostPosition | null | undefined): string => (of === null || of === undefined ? '' : `${of.microcents} ${of.id}`);
  return Buffer.from([day, cost(user), cost(agent)].join('\n')).toString('base64url');
};

export function parseSpendCursor(text: string): SpendPage | null {
  const [, day, userCost, user, agentCost, agent] = spendCursor.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (day === undefined || parseInstant(day) === null) return null;
  const position = (cost: string | undefined, id: string | undefined): CostPosition | null =>
    id === undefined ? null : { microcents: Number(cost), id };
  return { day, user: position(userCost, user), agent: position(agentCost, agent) };
}
