// What is wrong with a sidecar, in words, by its status.
import type { paths } from '../api/schema.d.ts';

type SidecarsAnswer = paths['/{workspace}/admin/sidecars']['get']['responses']['200']['content']['application/json'];
export type Sidecar = SidecarsAnswer['sidecars'][number];

export interface Problem {
  /** A few words for a list. */
  readonly words: string;
  /** What it means, and what to do. */
  readonly meaning: string;
}

/** A backlog is normal while entries are on their way. This old, they are not on their way. */
const spoolAgeMaxSeconds = 30;

const seconds = (count: number): string => `${Math.round(count).toLocaleString()} s`;
const many = (count: number, one: string): string => `${count.toLocaleString()} ${one}${count === 1 ? '' : 's'}`;

/** Returns what is wrong, the worst first. */
export function problemsOf({ connected, held, lag, lastNack, lacks, status }: Sidecar): readonly Problem[] {
  const problems: Problem[] = [];
  if (!connected)
    problems.push({
      words: 'not connected',
      meaning: 'It decides by the last policy that it received, and by the outage rule of the workspace when that is too old.',
    });
  if (held === null) problems.push({ words: 'no policy', meaning: 'It has not received a policy, and denies every call.' });
  if (lastNack !== null)
    problems.push({
      words: `refused a policy: ${lastNack.code}`,
      meaning: `It kept the policy from before. It says: ${lastNack.message}`,
    });
  // One that is not connected is behind for that reason.
  if (connected && lag !== null && lag.revisions > 0)
    problems.push({
      words: `${many(lag.revisions, 'revision')} behind for ${seconds(lag.seconds)}`,
      meaning: 'It still decides by an earlier policy.',
    });
  if (held !== null && lag === null)
    problems.push({ words: 'policy from before a restore', meaning: 'The database was restored after it received its policy.' });
  if (lacks.length > 0)
    problems.push({
      words: `lacks ${lacks.join(', ')}`,
      meaning: 'Rules that need this are sent to it as denials. Install a newer version.',
    });
  if (status !== null) problems.push(...problemsOfStatus(status));
  return problems;
}

function problemsOfStatus({ spool, unrecorded, outageDecisions, refused }: NonNullable<Sidecar['status']>): readonly Problem[] {
  const problems: Problem[] = [];
  if (refused.spools > 0)
    problems.push({
      words: `${many(refused.records, 'entry').replace('entrys', 'entries')} not taken`,
      meaning: `The control plane does not take ${many(refused.spools, 'spool')} of it: what arrives conflicts with what is stored. Its log says why.`,
    });
  if (unrecorded > 0)
    problems.push({
      words: `${many(unrecorded, 'decision')} not recorded`,
      meaning: 'Since its start, entries of these decisions could not be written to its disk.',
    });
  if (spool.records > 0 && spool.ageSeconds > spoolAgeMaxSeconds)
    problems.push({
      words: `${spool.records.toLocaleString()} entries wait for ${seconds(spool.ageSeconds)}`,
      meaning: 'They are on its disk and not yet in the audit log.',
    });
  if (outageDecisions > 0)
    problems.push({
      words: `${many(outageDecisions, 'decision')} by the outage rule`,
      meaning: 'Since its start, it decided so many calls without hearing from the control plane.',
    });
  return problems;
}
