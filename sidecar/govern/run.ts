// One run as policy sees it, whichever door it came through: who calls, what it has used of its caps, and the numbers of what
// was redacted in it.
//
// A run may live for hours, and sessions keep thousands of them, while each revision of a policy is an index of its own. So a run
// holds nothing of an index. Who calls under the snapshot that is held now is looked up for each call, and is reachable from that
// snapshot alone: with the snapshot it goes, whoever still holds the run. What outlives the snapshot is `decidedBy`: texts and numbers
// that belong to the run's own entries. What comes after a decision goes by these:
// - each call keeps the `decidedBy` that it was decided by, one object for all calls of the run under a revision: its entries name that
//   caller and that revision, and whether there must be an entry is what that snapshot says;
// - whether something is redacted stands in the decision itself, and what is looked for is what the workspace says at that time, so
//   never less recent than the decision.
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim } from '../decide/call.ts';
import type { Caller } from '../decide/caller.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { createRunUsage, type RunUsage } from '../limits/usage.ts';
import type { Numbers } from '../redact/index.ts';
import { callerText, type RunFacts } from './audit-entry.ts';
import type { GovernDeps, Governing } from './governing.ts';

export interface GovernedRun {
  /** What is held of policy, now. */
  readonly cell: Pick<GovernDeps['cell'], 'current'>;
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  /** Of what was redacted in it, shared with the runs it delegates to. */
  readonly numbers: Numbers;
  /** Of the snapshot last decided by, all that is kept of it. What was decided before has its own. */
  decidedBy: DecidedBy;
  /** What denies every call of it, whatever policy says. */
  readonly barred?: Decision;
}

/** Texts and numbers only: nothing here may lead to an index, a document or a profile. */
export interface DecidedBy {
  /** What entries say of the caller and the snapshot, as text. */
  readonly callerText: string;
  readonly agent: string;
  readonly revision: number;
  /** Calls and outcomes go on where their entries cannot be written. */
  readonly mayGoUnrecorded: boolean;
}

interface Bound {
  readonly caller: Caller;
  readonly decidedBy: DecidedBy;
}

/** Weak in both ways: an entry ends with the snapshot, or with the run. */
const boundUnder = new WeakMap<Index, WeakMap<GovernedRun, Bound>>();

/** A run that has used nothing yet. Throws where no policy is held. */
export function openRun(
  { counters, govern }: Pick<Governing, 'counters' | 'govern'>,
  parts: { readonly claim: Claim; readonly facts: RunFacts; readonly numbers: Numbers },
): GovernedRun {
  heldBy(govern.cell);
  const usage = createRunUsage(counters, { originSub: parts.claim.identity.sub, startedAt: govern.clock.now() });
  return resumeRun(govern.cell, { ...parts, usage });
}

/** A run that goes on from what it has used. Throws where no policy is held. */
export function resumeRun(cell: GovernedRun['cell'], parts: Omit<GovernedRun, 'cell' | 'decidedBy'>): GovernedRun {
  const index = heldBy(cell);
  const bound = bind(index, parts);
  const run: GovernedRun = { ...parts, cell, decidedBy: bound.decidedBy };
  remember(index, run, bound);
  return run;
}

/** The snapshot to be used at once, and not to be kept. Doors let nobody in before there is one, and it never goes. */
export function heldBy({ current }: GovernedRun['cell']): Index {
  if (current === null) throw new Error('no policy is held yet');
  return current;
}

/** Who calls, under the snapshot that is held now. Not to be kept for longer than it takes to decide. */
export const callerOf = (run: GovernedRun): Caller => boundOf(run).caller;

function boundOf(run: GovernedRun): Bound {
  const index = heldBy(run.cell);
  const known = boundUnder.get(index)?.get(run);
  if (known !== undefined) return known;
  const bound = bind(index, run);
  remember(index, run, bound);
  return bound;
}

function bind(index: Index, { claim, facts }: Pick<GovernedRun, 'claim' | 'facts'>): Bound {
  const caller = bindCaller(index, claim);
  const decidedBy = {
    callerText: callerText(caller, facts),
    agent: caller.hops.at(-1)?.name ?? '',
    revision: index.revision,
    mayGoUnrecorded: index.settings.auditUnavailable === 'allow',
  };
  return { caller, decidedBy };
}

function remember(index: Index, run: GovernedRun, bound: Bound): void {
  const runs = boundUnder.get(index) ?? new WeakMap<GovernedRun, Bound>();
  boundUnder.set(index, runs);
  runs.set(run, bound);
}

/** Brings the run to the snapshot held now: who calls, or the decision where that already denies. */
export function rebind({ cell, clock }: GovernDeps, run: GovernedRun): { readonly caller: Caller } | { readonly barred: Decision } {
  if (cell.refused !== null) return { barred: refuse('key_revoked', `the control plane refuses this sidecar's key: ${cell.refused}`) };
  if (cell.current === null) return { barred: refuse('snapshot_missing', 'no policy has been received yet') };
  if (run.barred !== undefined) return { barred: run.barred };
  const { caller, decidedBy } = boundOf(run);
  run.decidedBy = decidedBy;
  const expiresAt = caller.key?.expiresAt ?? null;
  return expiresAt !== null && clock.wall() >= expiresAt ? { barred: refuse('key_revoked', 'the key has expired') } : { caller };
}

/** What denies each call of the run, whatever its tool; null: nothing does. */
export function stopOf(deps: GovernDeps, run: GovernedRun): Decision | null {
  const bound = rebind(deps, run);
  return 'barred' in bound ? bound.barred : (bound.caller.halted ?? bound.caller.refused);
}

interface Handed {
  readonly agent: string;
  /** Absent: all of its parent's. */
  readonly tools?: readonly string[];
  readonly scopes?: readonly string[];
}

/** The claim of an agent that the last one of `claim` hands a task to. */
export function childOf(claim: Claim, { agent, tools, scopes }: Handed): Claim {
  const parent = claim.hops.at(-1);
  if (parent === undefined) throw new Error('a claim names an agent');
  const hop = {
    tier: 'subagent' as const,
    client: parent.client,
    agent,
    ...(tools === undefined ? {} : { handedTools: tools }),
    ...(scopes === undefined ? {} : { handedScopes: scopes }),
  };
  return { ...claim, hops: [...claim.hops, hop] };
}
