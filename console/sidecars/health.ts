// What is wrong with a sidecar, in words, by its status.
import { instantWords, lengthWords } from '../parts/when.tsx';
import type { Sidecar } from './data.ts';

export interface Problem {
  /** A few words for a list. */
  readonly words: string;
  /** What it means, and what to do. */
  readonly meaning: string;
  /** `deny`: it is gone, or denies every call. `limit`: it decides, and something is not as it should be. */
  readonly tone: 'deny' | 'limit';
}

export const toneColour = ({ tone }: Problem): string => `var(--outcome-${tone})`;

/** Such as `1 revision behind for 2 min (since 19:51:11)`. Null: it is not behind. */
function behindWords({ lag, behindSince }: Pick<Sidecar, 'lag' | 'behindSince'>): string | null {
  if (lag === null || behindSince === null) return null;
  return `${many(lag.revisions, 'revision')} behind for ${lengthWords(lag.seconds)} (since ${instantWords(behindSince)})`;
}

/** What a sidecar is a part of. */
export const formWords: Readonly<Record<Sidecar['form'], string>> = { library: 'library in an agent', process: 'separate process' };

/** A backlog is normal while entries are on their way. This old, they are not on their way. */
const spoolAgeMaxSeconds = 30;

const many = (count: number, one: string): string => `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;

/** Returns what is wrong, the worst first. */
export function problemsOf(sidecar: Sidecar): readonly Problem[] {
  const { connected, lastSeen, held, lag, lastNack, lacks, status } = sidecar;
  const problems: Problem[] = [];
  if (!connected)
    problems.push({
      tone: 'deny',
      words: `not connected since ${instantWords(lastSeen)}`,
      meaning: 'It decides by the last policy that it received, and by the outage rule of the workspace when that is too old.',
    });
  if (held === null) problems.push({ tone: 'deny', words: 'no policy', meaning: 'It has not received a policy, and denies every call.' });
  const behind = behindWords(sidecar);
  if (behind !== null)
    problems.push({ tone: 'limit', words: behind, meaning: 'It has not acknowledged the newest policy, and decides by an earlier one.' });
  if (lastNack !== null)
    problems.push({
      tone: 'limit',
      words: `refused a policy: ${lastNack.code}`,
      meaning: `It kept the policy from before. It says: ${lastNack.message}`,
    });
  if (held !== null && lag === null)
    problems.push({
      tone: 'limit',
      words: 'policy from before a restore',
      meaning: 'The database was restored after it received its policy.',
    });
  if (lacks.length > 0)
    problems.push({
      tone: 'limit',
      words: `lacks ${lacks.join(', ')}`,
      meaning: 'Rules that need this are sent to it as denials. Install a newer version.',
    });
  if (status !== null) problems.push(...problemsOfStatus(status));
  return problems;
}

/** Clocks that NTP keeps do not differ by so much. */
const clockSecondsMax = 60;

function problemsOfStatus({
  spool,
  unrecorded,
  outageDecisions,
  refused,
  clockAheadSeconds,
}: NonNullable<Sidecar['status']>): readonly Problem[] {
  const problems: Problem[] = [];
  if (refused.spools > 0)
    problems.push({
      tone: 'limit',
      words: `${many(refused.records, 'entry').replace('entrys', 'entries')} not taken`,
      meaning: `The control plane does not take ${many(refused.spools, 'spool')} of it: what arrives conflicts with what is stored. Its log says why.`,
    });
  if (unrecorded > 0)
    problems.push({
      tone: 'limit',
      words: `${many(unrecorded, 'decision')} not recorded`,
      meaning: 'Since its start, entries of these decisions could not be written to its disk.',
    });
  if (spool.records > 0 && spool.ageSeconds > spoolAgeMaxSeconds)
    problems.push({
      tone: 'limit',
      words: `${spool.records.toLocaleString()} entries wait for ${lengthWords(spool.ageSeconds)}`,
      meaning: 'They are on its disk and not yet in the audit log.',
    });
  if (clockAheadSeconds !== null && Math.abs(clockAheadSeconds) > clockSecondsMax)
    problems.push({
      tone: 'limit',
      words: `clock ${lengthWords(Math.abs(clockAheadSeconds))} ${clockAheadSeconds > 0 ? 'ahead' : 'behind'}`,
      meaning:
        'The clock of its machine is wrong, or that of the control plane. Keys expire by the time of the control plane, but its entries carry its own time.',
    });
  if (outageDecisions > 0)
    problems.push({
      tone: 'limit',
      words: `${many(outageDecisions, 'decision')} by the outage rule`,
      meaning: 'Since its start, it decided so many calls without hearing from the control plane.',
    });
  return problems;
}
