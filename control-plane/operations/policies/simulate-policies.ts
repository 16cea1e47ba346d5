// Decides recorded calls again, by the documents of today and by a draft of them, and says what would differ. It writes
// nothing and holds nothing: it reads page by page, gives way to other requests every few dozen calls, and stops when
// whoever asked has gone, the entries it may read are read, or its time is up.
import { performance } from 'node:perf_hooks';
import { AppError } from '@tollgate/proto/contract';
import type { PolicyDefaults, WorkspaceState } from '../../compile/state.ts';
import { requireAccess } from '../../domain/access/access.ts';
import { draftedDocuments, parseSimulation, type SimulationQuestion } from '../../domain/policies/simulation.ts';
import { accepted, unauthenticated } from '../../domain/refusal.ts';
import { type Known, knownFrom, type ReplayedEntry, replayedCall } from '../../evaluate/replayed-call.ts';
import { replayedPolicyOf } from '../../evaluate/replayed-policy.ts';
import { type Comparison, createSimulation, type Simulation } from '../../evaluate/simulate.ts';
import { readReplay } from '../../store/audit-replay.ts';
import { readWorkspaceState } from '../../store/workspace-state.ts';
import { createStanding } from '../access/standing.ts';
import { type ReplayDeps, replayTurns, takeTurn } from '../audit/replay.ts';
import { type Operation, readOperation } from '../operation.ts';
import { createSeats, type Seats } from '../turns.ts';
import { documentBody } from './write-policy.ts';

export interface SimulationResult extends Comparison {
  readonly since: string;
  readonly until: string;
  /** There are more entries in the range than were decided. */
  readonly truncated: boolean;
}

export type SimulationLine =
  | { readonly progress: { readonly entries: number; readonly until: string } }
  | { readonly result: SimulationResult }
  /** What stopped it midway, for the edge to put into words. */
  | { readonly failure: unknown };

const workMs = 30_000;
const progress = { entries: 1_000, ms: 250 } as const;
/** Of one workspace; each takes a part of one core. */
const atOnce = 2;

/** All that are asked of the operation that is answered are counted together. */
export function createSimulatePolicies(): Operation<unknown, AsyncIterable<SimulationLine>> {
  const seats = createSeats<number>({ each: atOnce });
  return readOperation('policy.simulate', async (deps, actor, body: unknown, { signal }) => {
    const { readingPool, clock, defaults } = deps;
    const { workspaceId } = actor;
    requireAccess(actor, 'audit.read');
    const question = accepted(parseSimulation({ ...documentBody(body) }, clock()));
    const replay: SimulationDeps = {
      read: (since, until, after) => readReplay(readingPool, workspaceId, { since, until, after }),
      stopwatch: () => performance.now(),
      requireStanding: createStanding(deps, actor, 'policy.simulate'),
      ...(signal === undefined ? {} : { signal }),
    };
    return seated(seats, workspaceId, async () => {
      const state = await readWorkspaceState(readingPool, workspaceId);
      if (state === null) throw unauthenticated('the workspace of this key is gone');
      return simulate(replay, state, defaults, question);
    });
  });
}

/** Takes the seat when the first line is asked for, so that who never asks takes none. */
async function* seated(
  seats: Seats<number>,
  workspaceId: number,
  begin: () => Promise<AsyncIterable<SimulationLine>>,
): AsyncGenerator<SimulationLine> {
  const seat = seats.take(workspaceId);
  if ('taken' in seat)
    throw new AppError({
      code: 'rate_limited',
      publicMessage: `at most ${atOnce} simulations of a workspace run at once; try again when one has ended`,
      retryAfterSeconds: 5,
    });
  try {
    yield* await begin();
  } finally {
    seat.leave();
  }
}

export interface SimulationDeps extends ReplayDeps {
  readonly signal?: AbortSignal;
  /** Throws where who asked may not any more. */
  readonly requireStanding: () => Promise<void>;
}

/** Exactly one result or failure ends it; nothing does where the one who asked has gone. */
export async function* simulate(
  deps: SimulationDeps,
  state: WorkspaceState,
  defaults: PolicyDefaults,
  question: SimulationQuestion,
): AsyncGenerator<SimulationLine> {
  try {
    yield* replayed(deps, state, defaults, question);
  } catch (reason) {
    yield { failure: reason };
  }
}

async function* replayed(
  deps: SimulationDeps,
  state: WorkspaceState,
  defaults: PolicyDefaults,
  { wanted, since, until, limit }: SimulationQuestion,
): AsyncGenerator<SimulationLine> {
  const { stopwatch, signal, requireStanding } = deps;
  const endsAt = stopwatch() + workMs;
  const known = knownFrom(state);
  const today = replayedPolicyOf(state, state.documents, defaults);
  const draft = replayedPolicyOf(state, draftedDocuments(state.documents, wanted), defaults);
  const simulation = createSimulation(today, draft);

  // A window reaches back from the first call, so the calls of one window before it are counted, and no more than that.
  const warmFrom = new Date(since.getTime() - (defaults.windowSeconds + 1) * 1000);
  const run = { simulation, known, since, limit, entries: 0 };
  const said = { entries: 0, at: stopwatch() };
  let truncated = false;
  for await (const turn of replayTurns(deps, warmFrom, until)) {
    await requireStanding();
    if (signal?.aborted === true) return;
    truncated = !(await takeTurn(turn, stopwatch, (entry) => takeEntry(run, entry))) || stopwatch() >= endsAt;
    if (truncated) break;
    const last = turn.entries.at(-1);
    const { entries } = run;
    if (last === undefined || (entries < said.entries + progress.entries && stopwatch() < said.at + progress.ms)) continue;
    Object.assign(said, { entries, at: stopwatch() });
    yield { progress: { entries, until: last.ts.toISOString() } };
  }
  // Whoever asked may have gone while a page was read.
  if (signal?.aborted === true) return;
  yield { result: { since: since.toISOString(), until: until.toISOString(), truncated, ...simulation.compare() } };
}

interface Run {
  readonly simulation: Simulation;
  readonly known: Known;
  readonly since: Date;
  readonly limit: number;
  entries: number;
}

/** False where there are more entries than may be decided. */
function takeEntry(run: Run, entry: ReplayedEntry): boolean {
  const call = replayedCall(entry, run.known);
  if (entry.ts < run.since) {
    run.simulation.warmUp(call);
    return true;
  }
  if (run.entries >= run.limit) return false;
  run.entries += 1;
  run.simulation.take(call);
  return true;
}
