// Reads approvals for people: pages of them, one of them, and what changes.
import type pg from 'pg';
import { AppError } from '@tollgate/proto/contract';
import { setTimeout as delay } from 'node:timers/promises';
import { stillStands } from '../../access/operations/authenticate.ts';
import { recheckMs } from '../../access/operations/standing.ts';
import { refusalFor, requireAccess } from '../../access/rules/access.ts';
import { type OperationDeps, readOperation } from '../../access/operation.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { createBell } from '../../base/bell.ts';
import { notFound, unauthenticated } from '../../base/refusal.ts';
import { type Approval, type ApprovalRef, isDue } from '../rules/approval.ts';
import type { StoredAnswer } from '../rules/who-may-answer.ts';
import { callBytes } from '../rules/ask-form.ts';
import { prettyJson } from '../rules/plain-text.ts';
import { listAnswers } from '../store/answers.ts';
import { type ApprovalStep, findApproval, listSteps, readTime } from '../store/approvals.ts';
import {
  countPending,
  listChanged,
  type ListFilters,
  listIds,
  listLastCalls,
  type ListPlace,
  listQuestion,
  type SessionCall,
} from '../store/listed.ts';
import { countMessages } from '../../channels/store/messages.ts';
import { countUses } from '../store/uses.ts';
import { isSeenBy, sightOf } from './sight.ts';

export type { ListPlace } from '../store/listed.ts';

/** An approval with what belongs to it, as people see it. */
export interface ShownApproval {
  readonly approval: Approval;
  /** The input for people: `prettyJson`. */
  readonly shownText: string;
  readonly used: number;
  readonly answers: readonly StoredAnswer[];
}

export interface WholeApproval extends ShownApproval {
  /** The approvals of the same question, this one included. */
  readonly question: readonly string[];
  readonly steps: readonly ApprovalStep[];
  readonly calls: readonly SessionCall[];
}

export interface ListInput {
  readonly filters: ListFilters;
  /** Only approvals of calls that are made for the caller. */
  readonly mine: boolean;
  readonly limit: number;
  readonly before: ListPlace | null;
}

const sessionCalls = 10;
const stepsShown = 200;
/** A page holds whole inputs, so it is cut at this many bytes. At least one approval is on each page. */
const pageBytes = 4 * 1_048_576;

/** Reads one approval; null: there is none. What time has ended is shown as ended, also if no step has recorded it yet. */
async function readShown(db: pg.Pool, ref: ApprovalRef): Promise<ShownApproval | null> {
  const found = await findApproval(db, ref);
  if (found === null) return null;
  const approval: Approval = isDue(found, await readTime(db)) ? { ...found, state: 'expired' } : found;
  const { used } = await countUses(db, ref);
  return { approval, shownText: prettyJson(approval.shownInput), used, answers: await listAnswers(db, ref) };
}

export const listApprovals = readOperation('approval.read', async ({ readingPool }, actor, { filters, mine, limit, before }: ListInput) => {
  const { workspaceId } = actor;
  const sub = mine ? actor.sub : filters.sub;
  // A caller that filters for the calls of another sees none of them as `mine`.
  const isNothing = mine && filters.sub !== undefined && filters.sub !== actor.sub;
  const wanted = { filters: { ...filters, sub }, sight: sightOf(actor), before, limit: limit + 1 };
  const places = isNothing ? [] : await listIds(readingPool, workspaceId, wanted);
  const approvals: ShownApproval[] = [];
  let last: ListPlace | null = null;
  let bytes = 0;
  for (const place of places.slice(0, limit)) {
    if (bytes > pageBytes) break;
    const shown = await readShown(readingPool, { workspaceId, id: place.id });
    last = place;
    if (shown === null) continue;
    approvals.push(shown);
    bytes += bytesOf(shown);
  }
  const isCut = last !== null && last.id !== places.at(-1)?.id;
  return { approvals, next: isCut ? last : null };
});

/** What an approval takes in an answer, roughly. */
const bytesOf = ({ approval: { shownInput, hidden, rules }, shownText }: ShownApproval): number =>
  shownInput.length + shownText.length + callBytes({ rules }) + hidden.reduce((sum, { path }) => sum + path.length, 0);

export const showApproval = readOperation('approval.read', async ({ readingPool }, actor, id: string): Promise<WholeApproval> => {
  const ref = { workspaceId: actor.workspaceId, id };
  const shown = await readShown(readingPool, ref);
  if (shown === null || !isSeenBy(actor, shown.approval)) throw notFound('there is no such approval');
  const { questionId, call } = shown.approval;
  return {
    ...shown,
    question: await listQuestion(readingPool, actor.workspaceId, questionId),
    steps: await listSteps(readingPool, ref, stepsShown),
    calls: await listLastCalls(readingPool, actor.workspaceId, { ...call, limit: sessionCalls }),
  };
});

const approvalId = /^[A-Za-z0-9]{20}$/;

/** Returns an approval as the list shows it, for an answer that is about something else. Null: the actor may not see it. */
export async function findSeenApproval(
  { readingPool }: Pick<OperationDeps, 'readingPool'>,
  actor: Actor,
  id: string,
): Promise<ShownApproval | null> {
  if (refusalFor(actor, 'approval.read') !== null || !approvalId.test(id)) return null;
  const shown = await readShown(readingPool, { workspaceId: actor.workspaceId, id });
  return shown === null || !isSeenBy(actor, shown.approval) ? null : shown;
}

/** Returns how many approvals wait in all workspaces, and for how long the oldest does. */
/** Returns how many messages about approvals of all workspaces wait, and how many could not be sent. */
export const countMessagesOf = (pool: pg.Pool): ReturnType<typeof countMessages> => countMessages(pool);

export const countApprovals = (pool: pg.Pool): ReturnType<typeof countPending> => countPending(pool);

export type ApprovalItem = { readonly kind: 'note'; readonly text: string } | { readonly kind: 'approval'; readonly shown: ShownApproval };

/** `atLeastMs`: the shortest time between two looks, however much changes. */
const standardPace = { keepAliveMs: 15_000, lookMs: recheckMs, atLeastMs: 200 };
/** How far back a look goes, in seconds: further than a transaction lasts. */
const lookBackSeconds = 30;
const changedMax = 1_000;

/**
 * Streams approvals that change, as they are after the change. A client that connects again reads the list first. Several
 * changes of one approval within a short time are one item.
 */
export function createFollowApprovals(pace = standardPace) {
  return readOperation('approval.read', async (deps, actor, _input: null, { signal = new AbortController().signal }) =>
    follow({ deps, actor, pace, signal }),
  );
}

interface Following {
  readonly deps: OperationDeps;
  readonly actor: Actor;
  readonly pace: typeof standardPace;
  readonly signal: AbortSignal;
}

async function* follow({ deps, actor, pace, signal }: Following): AsyncGenerator<ApprovalItem> {
  const { readingPool, approvals } = deps;
  const { workspaceId } = actor;
  const bell = createBell();
  const leave = approvals.changes.onChange((changed) => {
    if (changed === workspaceId) bell.ring();
  });
  let told = new Map<string, number>();
  const look = async () => {
    // The caller sees what its present role lets it see.
    const current = await stillStands(deps, actor);
    if (current === null) throw unauthenticated(`the ${actor.credential.kind} was revoked or has expired`);
    requireAccess(current, 'approval.read');
    return listChanged(readingPool, workspaceId, { sight: sightOf(current), seconds: lookBackSeconds, limit: changedMax });
  };
  try {
    for (const { id, version } of await look()) told.set(id, version);
    yield { kind: 'note', text: 'listening' };
    let spokeAt = performance.now();
    while (!signal.aborted) {
      await delay(pace.atLeastMs, undefined, { signal }).catch(() => undefined);
      await bell.wait(pace.lookMs, signal);
      const changed = await look();
      for (const { id, version } of changed) {
        if ((told.get(id) ?? 0) >= version || signal.aborted) continue;
        const shown = await readShown(readingPool, { workspaceId, id });
        if (shown === null) continue;
        yield { kind: 'approval', shown };
        spokeAt = performance.now();
      }
      told = new Map(changed.map(({ id, version }) => [id, version]));
      if (performance.now() - spokeAt < pace.keepAliveMs) continue;
      yield { kind: 'note', text: 'alive' };
      spokeAt = performance.now();
    }
  } catch (reason) {
    if (!(reason instanceof AppError)) throw reason;
    yield { kind: 'note', text: `ended: ${reason.publicMessage}` };
  } finally {
    leave();
  }
}
