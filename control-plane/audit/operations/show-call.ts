// Reads one call with everything that explains it: both of its entries, why it was decided so, its approval, and the calls
// around it in its session.
import { isObject } from '@tollgate/proto/shape';
import { readOperation, type OperationDeps } from '../../access/operation.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { findSeenApproval, type ShownApproval } from '../../approvals/operations/list.ts';
import { badRequest, notFound } from '../../base/refusal.ts';
import { instantWords, parseInstant } from '../../base/instant.ts';
import { explainRecorded, type RecordedExplanation } from '../../policies/operations/explain-recorded.ts';
import { type Outcome, outcomeOf } from '../rules/outcome.ts';
import { callAmong, type CallPlaces } from '../rules/recorded-call.ts';
import { listRequestPlaces, listSessionCalls, readEntriesAt, type RequestPlace, type SessionStep } from '../store/calls.ts';

type Entry = Readonly<Record<string, unknown>>;

interface SessionCall extends Pick<SessionStep, 'requestId' | 'agent' | 'chain' | 'tool'> {
  readonly outcome: Outcome;
  readonly ts: string;
}

export interface ShownCall {
  readonly requestId: string;
  readonly before: Entry | null;
  readonly after: Entry | null;
  readonly more: number;
  readonly explained: RecordedExplanation;
  readonly approval: ShownApproval | null;
  readonly traceId: string | null;
  readonly session: { readonly calls: readonly SessionCall[]; readonly more: boolean } | null;
}

interface CallQuestion {
  readonly requestId: string;
  /** The time of an entry of the call; null: not known. */
  readonly at: string | null;
}

const dayMs = 24 * 3_600_000;
/** The calls of the session that are shown: half of them before the call. */
const sessionMax = { calls: 50, looked: 200 } as const;

export const showCall = readOperation('audit.read', async (deps, actor, { requestId, at }: CallQuestion): Promise<ShownCall> => {
  const time = at === null ? null : parseInstant(at);
  if (at !== null && time === null) throw badRequest(`at ${instantWords}`);
  const found = await findCall(deps, actor, requestId, time);
  if (found === null) throw notFound('there is no entry of this request id');
  const { places, before, after } = found;
  const entry = before ?? after ?? {};
  const place = places.before ?? places.after;
  return {
    requestId,
    before,
    after,
    more: places.more,
    explained:
      before === null || places.before === null
        ? { unexplained: 'the entry of the decision is not kept' }
        : await explainRecorded(deps, actor, { ...replayed(places.before, before) }),
    approval: await approvalOf(deps, actor, entry),
    traceId: typeof entry['traceId'] === 'string' && /^[0-9a-f]{1,64}$/.test(entry['traceId']) ? entry['traceId'] : null,
    session: place === null ? null : await sessionOf(deps, actor, entry['sessionId'], place),
  };
});

interface FoundCall {
  readonly places: CallPlaces<RequestPlace>;
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** Returns null if there is no entry. PostgreSQL does not store NUL, so no entry has such an id. */
async function findCall({ readingPool }: OperationDeps, actor: Actor, requestId: string, at: Date | null): Promise<FoundCall | null> {
  if (requestId === '' || requestId.includes('\0')) return null;
  // An output can be recorded on the day after the decision.
  const around = at === null ? null : { from: new Date(at.getTime() - dayMs), to: new Date(at.getTime() + dayMs) };
  const places = callAmong(await listRequestPlaces(readingPool, actor.workspaceId, requestId, around), at);
  const wanted = [places.before, places.after].flatMap((place) => place?.position ?? []);
  if (wanted.length === 0) return null;
  const entries = await readEntriesAt(readingPool, actor.workspaceId, wanted);
  const entryAt = (place: RequestPlace | null): Entry | null =>
    place === null ? null : (entries.find(({ id }) => id === `${place.position.spoolId}-${place.position.sequence}`) ?? null);
  const [before, after] = [entryAt(places.before), entryAt(places.after)];
  return before === null && after === null ? null : { places, before, after };
}

function replayed({ position, tool, decision }: RequestPlace, entry: Entry) {
  return {
    id: String(entry['id']),
    ts: position.ts,
    tool,
    decision: decision === 'allow' ? ('allow' as const) : ('deny' as const),
    agentName: String(entry['agentName']),
    sub: String(entry['sub']),
    fields: entry,
  };
}

/** Returns the approval of the call; null: it has none, or the actor may not see it. */
async function approvalOf(deps: OperationDeps, actor: Actor, { approval }: Entry): Promise<ShownApproval | null> {
  const id = isObject(approval) ? approval['id'] : undefined;
  return typeof id === 'string' ? findSeenApproval(deps, actor, id) : null;
}

async function sessionOf(
  { readingPool }: OperationDeps,
  actor: Actor,
  sessionId: unknown,
  { position }: RequestPlace,
): Promise<ShownCall['session']> {
  if (typeof sessionId !== 'string' || sessionId === '') return null;
  const { calls: max, looked } = sessionMax;
  const { before, from } = await listSessionCalls(readingPool, actor.workspaceId, { sessionId, at: position }, { limit: max + 1, looked });
  // What one side does not need is shown of the other.
  const earlier = before.slice(-Math.max(max / 2, max - from.length));
  const later = from.slice(0, max - earlier.length);
  return {
    calls: [...earlier, ...later].map(({ requestId, agent, chain, tool, ts, ...fields }) => ({
      requestId,
      agent,
      chain,
      tool,
      outcome: outcomeOf(fields),
      ts: ts.toISOString(),
    })),
    more: before.length > earlier.length || from.length > later.length,
  };
}
