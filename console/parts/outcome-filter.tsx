// Buttons that narrow a list to some outcomes, with the number of rows of each.
import { Group, UnstyledButton } from '@mantine/core';
import { type Outcome, outcomeColour, outcomes, OutcomeSign, outcomeWords } from './outcome.tsx';
import css from './outcome-filter.module.css';

interface OutcomeFilterProps {
  readonly counts?: Readonly<Record<Outcome, number>>;
  /** Empty: all. */
  readonly wanted: readonly Outcome[];
  readonly onChange: (wanted: readonly Outcome[]) => void;
}

export function OutcomeFilter({ counts, wanted, onChange }: OutcomeFilterProps) {
  return (
    <Group gap={6} role="group" aria-label="Outcomes that are shown">
      {outcomes.map((outcome) => {
        const isOn = wanted.includes(outcome);
        return (
          <UnstyledButton
            key={outcome}
            className={css.one}
            aria-pressed={isOn}
            style={{ color: outcomeColour(outcome) }}
            onClick={() => onChange(isOn ? wanted.filter((one) => one !== outcome) : [...wanted, outcome])}
          >
            <OutcomeSign outcome={outcome} size={12} />
            {outcome === 'redact' ? 'input redacted' : outcomeWords[outcome]}
            {counts !== undefined && <span className={css.count}>{counts[outcome]}</span>}
          </UnstyledButton>
        );
      })}
    </Group>
  );
}
