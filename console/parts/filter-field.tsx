// A filter for one exact name. It is applied with Enter, when the field is left, or when a suggestion is chosen.
import { Autocomplete, CloseButton } from '@mantine/core';
import { useEffect, useState } from 'react';
import css from './filter-field.module.css';
import { Foreign } from './foreign.tsx';

interface FilterFieldProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onApply: (value: string | undefined) => void;
  /** Names that were seen. Asked for when the field is entered. */
  readonly suggest?: () => readonly string[];
}

const suggestionsMax = 20;

export function FilterField({ label, value = '', onApply, suggest }: FilterFieldProps) {
  const [typed, setTyped] = useState(value);
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => setTyped(value), [value]);
  const apply = (next: string): void => {
    if (next.trim() !== value) onApply(next.trim() === '' ? undefined : next.trim());
  };
  return (
    <Autocomplete
      label={label}
      placeholder="any"
      size="xs"
      classNames={{ label: css.label }}
      value={typed}
      onChange={setTyped}
      data={[...new Set(names)].filter((name) => name !== '').sort()}
      limit={suggestionsMax}
      renderOption={({ option }) => <Foreign text={option.value} max={80} />}
      onFocus={() => setNames(suggest?.() ?? [])}
      onBlur={() => apply(typed)}
      onOptionSubmit={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply(typed);
      }}
      rightSection={
        value === '' ? null : (
          <CloseButton
            size="xs"
            aria-label={`Remove the filter ${label}`}
            onClick={() => {
              setTyped('');
              onApply(undefined);
            }}
          />
        )
      }
      styles={{ input: { fontWeight: value === '' ? undefined : 600 } }}
    />
  );
}
