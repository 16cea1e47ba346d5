// Decides recorded calls again, by the documents of today and by a draft of them, and says what would differ. It writes
// nothing and holds nothing: it reads page by page, gives way to other requests every few dozen calls, and stops when
// whoever asked has gone, the entries it may read are read, or its time is up.
import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { type Known, knownFrom, type ReplayedEntry, recordedCall } from '../../compile/recorded-call.ts';
import { recordedPolicyOf } from '../../compile/recorded-policy.ts';
import { type Comparison, createSimulation, type Simulation } from '../../compile/simulate.ts';
import type { PolicyDefaults, WorkspaceState } from '../../compile/state.ts';
import { requireAccess } from '../../domain/access/access.ts';
import type { AuditPosition } from '../../domain/audit/audit-query.ts';
import { accepted, unauthenticated } from '../../domain/refusal.ts';
import { draftedDocuments, parseSimulation, type SimulationQuestion } from '../../domain/policies/simulation.ts';
import { type ReplayedPage, readReplay } from '../../store/audit-replay.ts';
import { readWorkspaceState } from '../../store/workspace-state.ts';
import { readOperation } from '../operation.ts';
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
/** How long other requests wait at most, and how many calls are taken before they have their turn anyway. */
const turn = { ms: 10, calls: 50 } as const;

export const simulatePolicies = readOperation(
  'policy.simulate',
  async ({ pool, clock, defaults }, actor, body: unknown, { signal }): Promise<AsyncIterable<SimulationLine>> => {
    requireAccess(actor, 'audit.read');
    const question = accepted(parseSimulation({ ...documentBody(body) }, clock()));
    const state = await readWorkspaceState(pool, actor.workspaceId);
    if (state === null) throw unauthenticated('the workspace of this key is gone');
    return simulate(
      {
        read: (since, until, after) => readReplay(pool, actor.workspaceId, { since, until, after }),
        stopwatch: () => performance.now(),
        ...(signal === undefined ? {} : { signal }),
      },
      state,
      defaults,
      question,
    );
  },
);

export interface ReplayDeps {
  readonly read: (since: Date, until: Date, after: AuditPosition | null) => Promise<ReplayedPage>;
  /** Ms, never goes back. */
  readonly stopwatch: () => number;
  readonly signal?: AbortSignal;
}

/** Exactly one result or failure ends it; nothing does where the one who asked has gone. */
export async function* simulate(
  deps: ReplayDeps,
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
  deps: ReplayDeps,
  state: WorkspaceState,
  defaults: PolicyDefaults,
  { wanted, since, until, limit }: SimulationQuestion,
): AsyncGenerator<SimulationLine> {
  const { stopwatch, signal } = deps;
  const endsAt = stopwatch() + workMs;
  const known = knownFrom(state);
  const today = recordedPolicyOf(state, state.documents, defaults);
  const draft = recordedPolicyOf(state, draftedDocuments(state.documents, wanted), defaults);
  const simulation = createSimulation(today, draft);

  // A window reaches back from the first call, so the calls of one window before it are counted, and no more than that.
  const warmFrom = new Date(since.getTime() - (defaults.windowSeconds + 1) * 1000);
  const run = { simulation, known, since, limit, entries: 0 };
  const said = { entries: 0, at: stopwatch() };
  let truncated = false;
  for await (const entriesOfTurn of turnsOf(deps, warmFrom, until)) {
    if (signal?.aborted === true) return;
    truncated = !(await takeTurn(run, entriesOfTurn, stopwatch)) || stopwatch() >= endsAt;
    if (truncated) break;
    const last = entriesOfTurn.at(-1);
    const { entries } = run;
    if (last === undefined || (entries < said.entries + progress.entries && stopwatch() < said.at + progress.ms)) continue;
    Object.assign(said, { entries, at: stopwatch() });
    yield { progress: { entries, until: last.ts.toISOString() } };
  }
  // Whoever asked may have gone while a page was read.
  if (signal?.aborted === true) return;
  yield { result: { since: since.toISOString(), until: until.toISOString(), truncated, ...simulation.compare() } };
}

/** A few entries at a time, oldest first; between two turns everybody else has theirs. */
async function* turnsOf({ read }: ReplayDeps, since: Date, until: Date): AsyncGenerator<readonly ReplayedEntry[]> {
  for (let after: AuditPosition | null = null; ; ) {
    const page: ReplayedPage = await read(since, until, after);
    // A page may hold nothing of interest; whether to go on is asked all the same.
    for (let at = 0; at === 0 || at < page.entries.length; at += turn.calls) {
      yield page.entries.slice(at, at + turn.calls);
      await setImmediate();
    }
    if (page.after === null) return;
    after = page.after;
  }
}

interface Run {
  readonly simulation: Simulation;
  readonly known: Known;
  readonly since: Date;
  readonly limit: number;
  entries: number;
}

/** False where there are more entries than may be decided. */
async function takeTurn(run: Run, entries: readonly ReplayedEntry[], stopwatch: () => number): Promise<boolean> {
  let startedAt = stopwatch();
  for (const entry of entries) {
    if (stopwatch() >= startedAt + turn.ms) {
      await setImmediate();
      startedAt = stopwatch();
    }
    const call = recordedCall(entry, run.known);
    if (entry.ts < run.since) {
      run.simulation.warmUp(call);
      continue;
    }
    if (run.entries >= run.limit) return false;
    run.entries += 1;
    run.simulation.take(call);
  }
  return true;
}
