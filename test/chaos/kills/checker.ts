// Compares what callers received with what was stored. These rules must hold, whatever was killed, frozen or cut:
//
//  1 answered   A call whose decision was received has exactly one PreToolUse entry: with that decision, reason and
//               request id. A call whose outcome was sent and accepted has exactly one PostToolUse entry. A call that was
//               denied because its entry could not be recorded (`audit_unavailable`) may have none; where it has one that
//               says allow, another entry reverts that.
//  2 sent       Every entry belongs to a call that was sent, through the tool that was called; no entry exists twice,
//               received or not.
//  3 whole      The sequences of each spool begin at 1 and have no holes except counted gaps, and there is no gap. What
//               was acknowledged to a sidecar as committed is in the database. Entries were ingested under numbers
//               without holes.
//  4 correct    A decision is the one that the rules of the revision it names make of the call's input, of the one epoch;
//               these rules are those that were written, each write whole and once, and an answered write at the revision
//               it was answered.
//  5 limits     Of each caller's calls of a tool, no more were allowed in any window than the limit: by the times at
//               which they were decided, over all sidecars.
//  6 forward    No process decides by a lower revision than the one it decided by before.
//  7 counted    The counts of the statistics are those of the stored entries.
//
// Times are those of entries. The duration of each decision is known, so that a process that pauses in the middle of
// one is not reported wrongly. All processes run on one machine and share its clock.
import { canonicalJson, digestText } from '@tollgate/proto/contract';
import { type Call, inputOf } from './calls.ts';
import type { Evidence, StoredEntry } from './evidence.ts';
import { countBy, groupBy } from './grouping.ts';
import { knownHistory } from './history.ts';
import { limitFindings, type RuleOf } from './limits.ts';
import { ruleOfCall } from './rules.ts';

export interface Violation {
  readonly invariant: 'answered' | 'sent' | 'whole' | 'correct' | 'limits' | 'forward' | 'counted' | 'healed' | 'chain';
  readonly what: string;
}

export interface Findings {
  readonly violations: readonly Violation[];
  /** Calls whose decision was received. */
  readonly answered: number;
  readonly entries: number;
  /** Of them, denied because the audit entry could not be recorded. */
  readonly unrecorded: number;
  /** Answered calls without an entry, except those in `unrecorded`. */
  readonly lost: number;
  /** Entries of a call beyond its first. */
  readonly duplicated: number;
  /** Entries of calls whose answer no caller received. */
  readonly unanswered: number;
  /** Denials by code. */
  readonly denied: ReadonlyMap<string, number>;
  /** Calls refused by a limit, and those of them for which the stepped window was below the limit. */
  readonly limited: number;
  readonly limitedWithCapacity: number;
}

export function checkEvidence(evidence: Evidence): Findings {
  const { calls, entries, lostDisks } = evidence;
  const violations: Violation[] = [];
  const { rules, problems } = knownHistory(evidence.history, evidence.writes);
  violations.push(...problems.map((what): Violation => ({ invariant: 'correct', what })));
  const pre = groupBy(
    entries.filter(({ entry }) => entry.hookEvent === 'PreToolUse'),
    ({ entry }) => entry.inputDigest,
  );
  const post = groupBy(
    entries.filter(({ entry }) => entry.hookEvent === 'PostToolUse'),
    ({ entry }) => entry.inputDigest,
  );
  const byDigest = new Map(calls.map((call) => [digestOf(call.id), call]));
  const ruleOf: RuleOf = ({ entry, tool }) => ruleOfCall(rules.at(entry.revision, tool), byDigest.get(entry.inputDigest)?.id ?? '');
  for (const [digest, call] of byDigest)
    violations.push(...checkCall(call, pre.get(digest) ?? [], post.get(digest) ?? [], lostDisks.get(call.through) ?? []));
  for (const entry of entries) {
    const { tool } = byDigest.get(entry.entry.inputDigest) ?? { tool: null };
    if (tool !== entry.tool) violations.push({ invariant: 'sent', what: `no caller sent the call of ${shown(entry)}` });
    // An outcome names the decision of its call, and the revision that is held when the outcome is reported.
    if (entry.entry.hookEvent === 'PreToolUse') violations.push(...checkDecision(entry, ruleOf, evidence));
  }
  violations.push(...checkSpools(evidence));
  violations.push(...evidence.miscounted.map((what): Violation => ({ invariant: 'counted', what })));
  const limits = limitFindings(entries, ruleOf, evidence);
  violations.push(...limits.exceeded.map((what): Violation => ({ invariant: 'limits', what })));
  const heard = calls.filter((call) => call.heard !== null);
  const preEntries = [...pre.values()].flat();
  return {
    violations,
    answered: heard.length,
    entries: entries.length,
    unrecorded: heard.filter(wasUnrecorded).length,
    lost: heard.filter((call) => !wasUnrecorded(call) && !pre.has(digestOf(call.id))).length,
    duplicated: preEntries.length - pre.size,
    unanswered: preEntries.filter(({ entry }) => (byDigest.get(entry.inputDigest)?.heard ?? null) === null).length,
    denied: countBy(preEntries.filter(({ decision }) => decision === 'deny').map(({ entry }) => entry.code)),
    limited: limits.refused,
    limitedWithCapacity: limits.refusedWithCapacity,
  };
}

const digestOf = (id: string): string => digestText(canonicalJson(inputOf(id)));

function checkCall(
  call: Call,
  pre: readonly StoredEntry[],
  post: readonly StoredEntry[],
  lostDiskAt: readonly number[],
): readonly Violation[] {
  const { heard, outcome } = call;
  const name = `${call.id} (${call.tool} through ${call.through}, sent ${new Date(call.sentAt).toISOString()})`;
  const found: Violation[] = [];
  const wrong = (invariant: Violation['invariant'], words: string): void =>
    void found.push({ invariant, what: `${name} ${words}; it heard ${JSON.stringify(heard)}; ${[...pre, ...post].map(shown).join('; ')}` });
  const unrecorded = heard !== null && isUnrecorded(heard.reason);
  if (pre.length > 1) wrong('sent', `has ${pre.length} PreToolUse entries`);
  if (heard !== null && pre.length === 0 && !unrecorded) wrong('answered', 'was answered, and has no entry');
  for (const { decision, entry } of heard === null ? [] : pre) {
    if (entry.requestId !== heard?.requestId) wrong('answered', 'has the entry of another request');
    else if (!unrecorded && (decision !== heard.decision || entry.decisionReason !== heard.reason)) wrong('answered', 'has another entry');
  }
  const told = post.filter(({ entry }) => entry.outcome?.code !== 'audit_unavailable');
  const takenBack = post.length - told.length;
  if (told.length > (outcome === 'none' ? 0 : 1)) wrong('sent', `has ${told.length} PostToolUse entries`);
  if (outcome === 'heard' && told.length === 0) wrong('answered', 'told its outcome, which has no entry');
  const mayTakeBack = (heard === null || unrecorded ? 1 : 0) + (outcome === 'told' || outcome === 'refused' ? 1 : 0);
  if (takenBack > mayTakeBack) wrong('sent', `was taken back ${takenBack} times`);
  // The reverting entry is on disk before the denial is sent, and is lost with the disk.
  const isLost = lostDiskAt.some((at) => at >= (call.heardAt ?? 0));
  if (unrecorded && takenBack === 0 && !isLost && pre.some(({ decision }) => decision === 'allow')) wrong('answered', 'was not taken back');
  return found;
}

const wasUnrecorded = ({ heard }: Call): boolean => heard !== null && isUnrecorded(heard.reason);
const isUnrecorded = (reason: string): boolean => reason.startsWith('audit_unavailable:');

function checkDecision(stored: StoredEntry, ruleOf: RuleOf, { epoch, newest }: Evidence): readonly Violation[] {
  const { entry, decision } = stored;
  const wrong = (words: string): readonly Violation[] => [{ invariant: 'correct', what: `${shown(stored)}: ${words}` }];
  if (entry.epoch !== epoch) return wrong(`its epoch is ${entry.epoch}, there is only ${epoch}`);
  if (entry.revision > newest) return wrong(`there is no such revision, the newest is ${newest}`);
  const { permission, rateLimit } = ruleOf(stored);
  const answer = `${decision} ${entry.code}`;
  if (permission === 'deny') return answer === 'deny policy_denied' ? [] : wrong('the rules of that revision deny the call');
  if (answer === 'allow allowed' || (answer === 'deny rate_limited' && rateLimit !== undefined)) return [];
  return wrong('the rules of that revision allow the call');
}

function checkSpools({ entries, gaps, acknowledged }: Evidence): readonly Violation[] {
  const found: Violation[] = [];
  for (const { spoolId, first, last, reason } of gaps)
    found.push({ invariant: 'whole', what: `spool ${spoolId} lost ${first} to ${last}: ${reason}` });
  const spools = groupBy(entries, ({ spoolId }) => spoolId);
  for (const [spoolId, ofSpool] of spools) {
    const sorted = ofSpool.toSorted((a, b) => a.sequence - b.sequence);
    const hole = sorted.findIndex(({ sequence }, at) => sequence !== at + 1);
    if (hole >= 0) found.push({ invariant: 'whole', what: `spool ${spoolId} has ${sorted[hole]?.sequence} where ${hole + 1} is expected` });
    if (acknowledged.get(spoolId) !== sorted.at(-1)?.sequence)
      found.push({
        invariant: 'whole',
        what: `spool ${spoolId} is acknowledged to ${acknowledged.get(spoolId)}, and ends at ${sorted.at(-1)?.sequence}`,
      });
    const decided = sorted.filter(({ entry }) => entry.hookEvent === 'PreToolUse');
    const back = decided.findIndex(({ entry }, at) => entry.revision < (decided[at - 1]?.entry.revision ?? 0));
    const [before, after] = [decided[back - 1], decided[back]];
    if (before !== undefined && after !== undefined)
      found.push({
        invariant: 'forward',
        what: `spool ${spoolId} went from revision ${before.entry.revision} to ${after.entry.revision}: ${shown(after)}`,
      });
  }
  const hole = entries.findIndex(({ ingest }, at) => ingest !== at + 1);
  if (hole >= 0)
    found.push({ invariant: 'whole', what: `ingest numbers go from ${entries[hole - 1]?.ingest ?? 0} to ${entries[hole]?.ingest}` });
  return found;
}

const shown = ({ spoolId, sequence, ts, tool, decision, entry }: StoredEntry): string =>
  `${entry.hookEvent} ${spoolId.slice(0, 8)}-${sequence} of ${new Date(ts).toISOString()}, ${tool} ${decision} ${entry.code} by revision ${entry.revision}`;
