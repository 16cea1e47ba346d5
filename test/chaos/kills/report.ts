// The report of a run of kills, for people.
import type { Outcome } from './run.ts';

const shownMax = 20;

export function reportLines(outcome: Outcome): readonly string[] {
  const { options, findings, healed, chain, kept } = outcome;
  const violations = [...outcome.violations, ...healed.late];
  const { answered, entries, unrecorded, lost, duplicated, unanswered, limited, limitedWithCapacity } = findings;
  const ms = (value: number): string => `${Math.round(value)} ms`;
  return [
    `seed               ${options.seed}`,
    `kills              ${options.kills} asked for; ${counts(outcome.kills)}; ${outcome.seconds} s in all, ${outcome.failedStarts} starts that did not come up`,
    `answered calls     ${answered}, of them ${unrecorded} denied because the audit entry could not be recorded in time`,
    `entries            ${entries}, of them ${unanswered} of calls whose answer did not arrive`,
    `lost               ${lost}`,
    `duplicated         ${duplicated}`,
    `chain              ${chain.said}`,
    `refused, by code   ${counts(findings.denied)}`,
    `refused by limits  ${limited}, of them ${limitedWithCapacity} although the stepped window had capacity`,
    `without a decision ${counts(outcome.barred)}; ${outcome.unanswered} requests without an answer`,
    `policy changes     ${outcome.writes} asked for`,
    `healed             all sidecars back after ${ms(healed.reconnectedMs)}, from then current everywhere after ${ms(healed.currentMs)}, entries committed again after ${ms(healed.committedMs)}, control plane found again after ${ms(healed.recoveredMs)}, all shipped after ${ms(healed.shippedMs)}`,
    `violations         ${violations.length}`,
    ...violations.slice(0, shownMax).map(({ invariant, what }) => `  ${invariant}: ${what}`),
    ...(violations.length > shownMax ? [`  and ${violations.length - shownMax} more`] : []),
    ...(kept === null
      ? []
      : [
          `what was done and said is in ${kept}`,
          `again: npm run test:chaos -- --kills ${options.kills} --seed ${options.seed} --minutes ${options.ms / 60_000}`,
        ]),
  ];
}

const counts = (of: ReadonlyMap<string, number>): string =>
  of.size === 0 ? 'none' : [...of].map(([name, count]) => `${name} ${count}`).join(', ');
