// How many calls had each outcome, in a line.
import { Group } from '@mantine/core';
import type { Stats } from '../api/stats.ts';
import { outcomeColour, OutcomeSign, outcomes, outcomeWords } from './outcome.tsx';

/** `groups`: counts by outcome. */
export function OutcomeCounts({ groups }: Pick<Stats, 'groups'>) {
  const totals = new Map(groups.map(({ value, total }) => [value, total]));
  return (
    <Group gap="4px 16px" fz={13}>
      {outcomes.map((outcome) => (
        <span key={outcome} style={{ display: 'inline-flex', gap: 5, alignItems: 'center', color: outcomeColour(outcome) }}>
          <OutcomeSign outcome={outcome} size={12} />
          <b>{(totals.get(outcome) ?? 0).toLocaleString()}</b> {outcomeWords[outcome]}
        </span>
      ))}
    </Group>
  );
}
