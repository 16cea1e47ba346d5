// One run as policy sees it, whichever door it came through: who calls, what it has used of its caps, and the numbers of what
// was redacted in it.
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim } from '../decide/call.ts';
import type { Caller } from '../decide/caller.ts';
import type { Decision } from '../decide/decision.ts';
import { refuse } from '../decide/refusal.ts';
import { createRunUsage, type RunUsage } from '../limits/usage.ts';
import type { Numbers } from '../redact/index.ts';
import type { RunFacts } from './audit-entry.ts';
import type { GovernDeps, Governing } from './governing.ts';

export interface GovernedRun {
  readonly facts: RunFacts;
  readonly claim: Claim;
  readonly usage: RunUsage;
  /** Of what was redacted in it, shared with the runs it delegates to. */
  readonly numbers: Numbers;
  /** Of the snapshot last decided by. */
  caller: Caller;
  /** What denies every call of it, whatever policy says. */
  readonly barred?: Decision;
}

/** A run that has used nothing yet. Throws where no policy is held. */
export function openRun(
  { counters, govern }: Pick<Governing, 'counters' | 'govern'>,
  parts: { readonly claim: Claim; readonly facts: RunFacts; readonly numbers: Numbers },
): GovernedRun {
  const index = govern.cell.current;
  if (index === null) throw new Error('no policy is held yet');
  const usage = createRunUsage(counters, { originSub: parts.claim.identity.sub, startedAt: govern.clock.now() });
  return resumeRun(index, { ...parts, usage });
}

/** A run that goes on from what it has used. */
export const resumeRun = (index: Index, parts: Omit<GovernedRun, 'caller'>): GovernedRun => ({
  ...parts,
  caller: bindCaller(index, parts.claim),
});

/** Brings the run to the snapshot held now; the decision where that already denies. */
export function rebind({ cell, clock }: GovernDeps, run: GovernedRun): Decision | null {
  const index = cell.current;
  if (cell.refused !== null) return refuse('key_revoked', `the control plane refuses this sidecar's key: ${cell.refused}`);
  if (index === null) return refuse('snapshot_missing', 'no policy has been received yet');
  if (run.barred !== undefined) return run.barred;
  if (run.caller.index !== index) run.caller = bindCaller(index, run.claim);
  const expiresAt = run.caller.key?.expiresAt ?? null;
  return expiresAt !== null && clock.wall() >= expiresAt ? refuse('key_revoked', 'the key has expired') : null;
}

export const mayGoUnrecorded = (run: GovernedRun): boolean => run.caller.index.settings.auditUnavailable === 'allow';

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
