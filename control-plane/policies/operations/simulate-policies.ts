// Decides recorded calls again, with the present documents and with a draft of them, and reports the differences. It
// writes nothing and holds no transaction or lock. It reads page by page and yields to other requests every few dozen
// calls. It stops when the caller has disconnected, when the maximum number of entries is read, or when its time is up.
import { performance } from 'node:perf_hooks';
import { AppError } from '@tollgate/proto/contract';
import { type PolicyDefaults, replayedPolicyOf } from '@tollgate/sidecar/engine/compile';
import type { WorkspaceState } from '../../workspaces/rules.ts';
import { requireAccess } from '../../access/rules/access.ts';
import { draftedDocuments, parseSimulation, type SimulationQuestion } from '../rules/simulation.ts';
import { accepted, unauthenticated } from '../../base/refusal.ts';
import { type KnownCallers, knownFrom, type ReplayedEntry, replayedCall } from '../evaluate/replayed-call.ts';
import { type Comparison, createSimulation, type Simulation } from '../evaluate/simulate.ts';
import { readReplay } from '../../audit/store/audit-replay.ts';
import { readWorkspaceState } from '../../workspaces/store/workspace-state.ts';
import { createStanding } from '../../access/operations/standing.ts';
import { type ReplayDeps, replayTurns, takeTurn } from '../../audit/operations/replay.ts';
import { type Operation, readOperation } from '../../access/operation.ts';
import { createSeats, type Seats } from '../../base/turns.ts';
import { documentBody } from './write-policy.ts';

export interface SimulationResult extends Comparison {
  readonly since: string;
  readonly until: string;
  /** Whether the range contains more entries than were decided. */
  readonly truncated: boolean;
}

export type SimulationLine =
  | { readonly progress: { readonly entries: number; readonly until: string } }
  | { readonly result: SimulationResult }
  /** The error that stopped the simulation before its end. The edge converts it into a message. */
  | { readonly failure: unknown };

const workMs = 30_000;
const progress = { entries: 1_000, ms: 250 } as const;
/** The maximum for one workspace. Each simulation uses a part of one core. */
const atOnce = 2;

/** Returns an operation that limits the simulations of each workspace. All its calls share one count. */
export function createSimulatePolicies(): Operation<unknown, AsyncIterable<SimulationLine>> {
  const seats = createSeats<number>({ each: atOnce });
  return readOperation('policy.simulate', async (deps, actor, body: unknown, { signal }) => {
    const { readingPool, clock, defaults } = deps;
    const { workspaceId } = actor;
    requireAccess(actor, 'audit.read');
    const question = accepted(parseSimulation({ ...documentBody(body) }, clock()));
    const replay: SimulationDeps = {
      read: (range) => readReplay(readingPool, workspaceId, range),
      stopwatch: () => performance.now(),
      requireStanding: createStanding(deps, actor, 'policy.simulate'),
      ...(signal === undefined ? {} : { signal }),
    };
    return seated(seats, workspaceId, async () => {
      const state = await readWorkspaceState(readingPool, workspaceId);
      if (state === null) throw unauthenticated('the workspace of this key no longer exists');
      return simulate(replay, state, defaults, question);
    });
  });
}

/** Takes the seat when the first line is requested. A caller that never requests a line uses no seat. */
async function* seated(
  seats: Seats<number>,
  workspaceId: number,
  begin: () => Promise<AsyncIterable<SimulationLine>>,
): AsyncGenerator<SimulationLine> {
  const seat = seats.take(workspaceId);
  if ('taken' in seat)
    throw new AppError({
      code: 'rate_limited',
      publicMessage: `at most ${atOnce} simulations of a workspace can run at the same time; try again when one of them has ended`,
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
  /** Throws if the caller is no longer permitted. */
  readonly requireStanding: () => Promise<void>;
}

/** Ends with exactly one result or one failure. If the caller has disconnected, it ends with neither. */
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

  // A window extends back from the first call. Therefore the calls of one window before the range are read and only
  // counted in the limits. Earlier calls are not needed.
  const warmFrom = new Date(since.getTime() - (defaults.windowSeconds + 1) * 1000);
  const readsInput = today.readsInput || draft.readsInput;
  const run = { simulation, known, readsInput, since, limit, entries: 0 };
  const said = { entries: 0, at: stopwatch() };
  let truncated = false;
  for await (const turn of replayTurns(deps, { since: warmFrom, until, readsInput })) {
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
  // The caller may have disconnected while a page was read.
  if (signal?.aborted === true) return;
  yield { result: { since: since.toISOString(), until: until.toISOString(), truncated, ...simulation.compare() } };
}

interface Run {
  readonly simulation: Simulation;
  readonly known: KnownCallers;
  readonly readsInput: boolean;
  readonly since: Date;
  readonly limit: number;
  entries: number;
}

/** Returns false if there are more entries than the limit. */
function takeEntry(run: Run, entry: ReplayedEntry): boolean {
  const call = replayedCall(entry, run.known, run.readsInput);
  if (entry.ts < run.since) {
    run.simulation.warmUp(call);
    return true;
  }
  if (run.entries >= run.limit) return false;
  run.entries += 1;
  run.simulation.take(call);
  return true;
}
