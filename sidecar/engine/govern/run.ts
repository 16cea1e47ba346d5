// Holds one run as policy sees it, for every door: who calls, what the run has used of its caps, and the numbers in the
// marks of redacted values.
//
// A run may live for hours, sessions keep thousands of runs, and each revision of a policy has its own index. Therefore
// a run holds no reference to an index. The caller under the current snapshot is looked up for each call. It is
// reachable only from that snapshot, so it is freed with the snapshot, even if the run still exists. Only `decidedBy`
// outlives the snapshot: texts and numbers for the run's own entries. After a decision these rules apply:
// - Each call keeps its own `decidedBy`. All calls of the run under one revision share one object. The entries of the
//   call name the caller and the revision of `decidedBy`. The snapshot of the decision says whether a call may continue
//   without an entry.
// - The decision says whether something is redacted. The workspace's settings at the time of redaction say what is
//   searched for, so these settings are never older than the decision.
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim } from '../decide/call.ts';
import type { Caller } from '../decide/caller.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { createRunUsage, type RunUsage, type UsedCaps } from '../limits/usage.ts';
import type { Numbers } from '../redact/index.ts';
import { planeTime } from '../snapshot/plane-time.ts';
import { callerText, type RunFacts } from './audit-entry.ts';
import type { GovernDeps, Governing } from './governing.ts';

interface RunParts {
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  /** The numbers in the marks of redacted values. They are shared with the runs that this run delegates to. */
  readonly numbers: Numbers;
  /** If present, this decision denies every call of the run, whatever policy says. */
  readonly barred?: Decision | undefined;
}

/** A class, so that all runs have one shape (hidden class). Sessions keep thousands of runs. */
export class GovernedRun implements RunParts {
  /** The cell with the policy that is held now. */
  readonly cell: Pick<GovernDeps['cell'], 'current'>;
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  readonly numbers: Numbers;
  readonly barred: Decision | undefined;
  /** The data of the snapshot that made the last decision. Earlier calls keep the `decidedBy` of their own decision. */
  decidedBy: DecidedBy;
  /** True: no call of the run was decided yet. */
  isNew = true;

  constructor(cell: GovernedRun['cell'], { facts, claim, usage, numbers, barred }: RunParts, decidedBy: DecidedBy) {
    this.cell = cell;
    this.facts = facts;
    this.claim = claim;
    this.usage = usage;
    this.numbers = numbers;
    this.barred = barred;
    this.decidedBy = decidedBy;
  }
}

/** Texts and numbers only: nothing here may reference an index, a document or a profile. */
export interface DecidedBy {
  /** What entries say about the caller and the snapshot, as text. */
  readonly callerText: string;
  readonly agent: string;
  readonly revision: number;
  /** True: calls and outcomes continue even if their entries cannot be written. */
  readonly mayGoUnrecorded: boolean;
}

interface BoundCaller {
  readonly caller: Caller;
  readonly decidedBy: DecidedBy;
}

/**
 * The bound caller of each run, by snapshot. Both keys are weak, so a bound caller is freed with its snapshot or its
 * run.
 */
const boundUnder = new WeakMap<Index, WeakMap<GovernedRun, BoundCaller>>();

/** What a run has used so far, and for how long it has been active, in ms. */
export interface EarlierUse extends UsedCaps {
  readonly activeMs: number;
}

/** Opens a run. `earlier`: what it has used in another process; absent: nothing yet. Throws if no policy is held. */
export function openRun(
  { counters, govern }: Pick<Governing, 'counters' | 'govern'>,
  { earlier, ...parts }: { readonly claim: Claim; readonly facts: RunFacts; readonly numbers: Numbers; readonly earlier?: EarlierUse },
): GovernedRun {
  heldBy(govern.cell);
  const startedAt = govern.clock.now() - (earlier?.activeMs ?? 0);
  const { sub: originSub } = parts.claim.identity;
  const usage = createRunUsage(counters, { originSub, startedAt, ...(earlier === undefined ? {} : { used: earlier }) });
  return resumeRun(govern.cell, { ...parts, usage });
}

/**
 * Opens a run that continues with its earlier usage. Throws if no policy is held. `caller`: the caller of `parts.claim`
 * under the snapshot that is held now, if it is already known.
 */
export function resumeRun(cell: GovernedRun['cell'], parts: RunParts, caller = bindCaller(heldBy(cell), parts.claim)): GovernedRun {
  const bound = boundWith(caller, parts.facts);
  const run = new GovernedRun(cell, parts, bound.decidedBy);
  remember(run, bound);
  return run;
}

/**
 * Returns the snapshot for immediate use; do not store it. Doors accept no call before there is a snapshot, and a
 * snapshot is never removed without a replacement.
 */
export function heldBy({ current }: GovernedRun['cell']): Index {
  if (current === null) throw new Error('no policy has been received yet, and no call may be accepted before the first policy');
  return current;
}

/** Returns the caller under the snapshot that is held now. Do not keep it longer than one decision takes. */
export const callerOf = (run: GovernedRun): Caller => boundOf(run).caller;

function boundOf(run: GovernedRun): BoundCaller {
  const index = heldBy(run.cell);
  const known = boundUnder.get(index)?.get(run);
  if (known !== undefined) return known;
  const bound = boundWith(bindCaller(index, run.claim), run.facts);
  bound.caller.isKept = true;
  remember(run, bound);
  return bound;
}

function remember(run: GovernedRun, bound: BoundCaller): void {
  const { index } = bound.caller;
  const runs = boundUnder.get(index) ?? new WeakMap<GovernedRun, BoundCaller>();
  boundUnder.set(index, runs);
  runs.set(run, bound);
}

/**
 * Notes that a call of the run was decided. After the first call, the caller of the run is forgotten. From the second
 * call on, it is remembered. Thus a session that makes only one call leaves no caller in memory.
 */
export function decided(run: GovernedRun): void {
  if (!run.isNew) return;
  run.isNew = false;
  const { current } = run.cell;
  if (current !== null) boundUnder.get(current)?.delete(run);
}

function boundWith(caller: Caller, facts: RunFacts): BoundCaller {
  const { revision, settings } = caller.index;
  const decidedBy = {
    callerText: callerText(caller, facts),
    agent: caller.hops.at(-1)?.name ?? '',
    revision,
    mayGoUnrecorded: settings.auditUnavailable === 'allow',
  };
  return { caller, decidedBy };
}

/**
 * Binds the run to the current snapshot. Returns the caller, or the decision that already denies every call of the run.
 */
export function rebind(deps: GovernDeps, run: GovernedRun): { readonly caller: Caller } | { readonly barred: Decision } {
  const { cell } = deps;
  if (cell.refused !== null) return { barred: refuse('key_revoked', `the control plane refuses this sidecar's key: ${cell.refused}`) };
  if (cell.current === null) return { barred: refuse('snapshot_missing', 'no policy has been received yet') };
  if (run.barred !== undefined) return { barred: run.barred };
  const { caller, decidedBy } = boundOf(run);
  run.decidedBy = decidedBy;
  const expiresAt = caller.key?.expiresAt ?? null;
  return expiresAt !== null && planeTime(deps) >= expiresAt ? { barred: refuse('key_revoked', 'the key has expired') } : { caller };
}

/** Returns the decision that denies each call of the run, whatever its tool. Null: there is no such decision. */
export function stopOf(deps: GovernDeps, run: GovernedRun): Decision | null {
  const bound = rebind(deps, run);
  return 'barred' in bound ? bound.barred : (bound.caller.halted ?? bound.caller.refused);
}

interface HandedTask {
  readonly agent: string;
  /** The tools that are handed to the agent. Absent: all tools of its parent. */
  readonly tools?: readonly string[];
  readonly scopes?: readonly string[];
}

/** Returns the claim of an agent to which the last agent of `claim` delegates a task. */
export function childOf(claim: Claim, { agent, tools, scopes }: HandedTask): Claim {
  const parent = claim.hops.at(-1);
  if (parent === undefined) throw new Error('a claim must contain at least one hop, the hop of the calling agent');
  const hop = {
    tier: 'subagent' as const,
    client: parent.client,
    agent,
    ...(tools === undefined ? {} : { handedTools: tools }),
    ...(scopes === undefined ? {} : { handedScopes: scopes }),
  };
  return { ...claim, hops: [...claim.hops, hop] };
}
