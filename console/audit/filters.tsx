// The filters of a search, and the time that it covers.
import { Button, Group, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import { useDisclosure, useMediaQuery } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import css from '../parts/filter-field.module.css';
import { FilterField } from '../parts/filter-field.tsx';
import type { Filters } from '../parts/url-filters.ts';
import { lasts, type TimeRange } from './time-range.ts';

export const filterNames = ['tool', 'decision', 'agent', 'sub', 'session', 'reason', 'since', 'until', 'last'] as const;
type FilterName = (typeof filterNames)[number];
export type AuditFilterValues = Filters<FilterName>;

interface AuditFiltersProps {
  readonly values: AuditFilterValues;
  readonly range: TimeRange;
  readonly onChange: (changes: Readonly<Partial<Record<FilterName, string | undefined>>>) => void;
  readonly onWiden: () => void;
  readonly suggest: (field: 'tool' | 'agent' | 'sub' | 'code') => readonly string[];
}

const narrowing = ['tool', 'decision', 'agent', 'sub', 'session', 'reason'] as const;

/** On a small screen only the length of the time is shown until the reader asks for the rest. */
export function AuditFilters({ values, range, onChange, onWiden, suggest }: AuditFiltersProps) {
  const isSmall = useMediaQuery('(max-width: 48em)', undefined, { getInitialValueInEffect: false });
  const [isOpen, fold] = useDisclosure(false);
  const count = narrowing.filter((name) => values[name] !== undefined).length;
  const isShown = !isSmall || isOpen;
  return (
    <search>
      {isShown && <Names values={values} onChange={onChange} suggest={suggest} />}
      <Group gap="xs" mt={isShown ? 'xs' : 0} align="end">
        <NativeSelect
          size="xs"
          label="Time"
          data={[
            ...lasts.map(({ value, label }) => ({ value, label: `last ${label}` })),
            ...(range.last === null ? [{ value: 'fixed', label: 'custom' }] : []),
          ]}
          value={range.last ?? 'fixed'}
          onChange={({ currentTarget: { value } }) => {
            if (value !== 'fixed') onChange({ last: value, since: undefined, until: undefined });
          }}
        />
        {isShown && (
          <>
            <Instant
              label="From"
              value={range.since}
              onApply={(value) => onChange({ since: value, until: range.until ?? undefined, last: undefined })}
            />
            <Instant
              label="Until"
              value={range.until}
              onApply={(value) => onChange({ since: range.since, until: value, last: undefined })}
            />
            <Button size="xs" variant="default" onClick={onWiden}>
              Zoom out
            </Button>
          </>
        )}
        {isSmall && (
          <Button size="xs" variant="default" onClick={fold.toggle} aria-expanded={isOpen}>
            {isOpen ? 'Hide filters' : count === 0 ? 'Filters' : `Filters (${count})`}
          </Button>
        )}
        {count > 0 && (
          <Button size="xs" variant="subtle" onClick={() => onChange(Object.fromEntries(narrowing.map((name) => [name, undefined])))}>
            Remove all filters
          </Button>
        )}
      </Group>
    </search>
  );
}

/** The filters that have one exact value. */
function Names({ values, onChange, suggest }: Pick<AuditFiltersProps, 'values' | 'onChange' | 'suggest'>) {
  const { tool, decision, agent, sub, session, reason } = values;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }} spacing="xs" verticalSpacing="xs">
      <FilterField label="Tool" value={tool} onApply={(value) => onChange({ tool: value })} suggest={() => suggest('tool')} />
      <FilterField label="Agent" value={agent} onApply={(value) => onChange({ agent: value })} suggest={() => suggest('agent')} />
      <FilterField label="User" value={sub} onApply={(value) => onChange({ sub: value })} suggest={() => suggest('sub')} />
      <FilterField label="Session" value={session} onApply={(value) => onChange({ session: value })} />
      <FilterField label="Reason code" value={reason} onApply={(value) => onChange({ reason: value })} suggest={() => suggest('code')} />
      <NativeSelect
        label="Decision"
        size="xs"
        classNames={{ label: css.label }}
        data={[
          { value: '', label: 'any' },
          { value: 'allow', label: 'allowed' },
          { value: 'deny', label: 'denied' },
        ]}
        value={decision ?? ''}
        onChange={({ currentTarget }) => onChange({ decision: currentTarget.value })}
      />
    </SimpleGrid>
  );
}

interface InstantProps {
  readonly label: string;
  /** ISO 8601. Null: up to now. */
  readonly value: string | null;
  readonly onApply: (value: string | undefined) => void;
}

/** An instant in the reader's zone. */
function Instant({ label, value, onApply }: InstantProps) {
  const [typed, setTyped] = useState(localOf(value));
  useEffect(() => setTyped(localOf(value)), [value]);
  const apply = (): void => {
    if (typed === localOf(value)) return;
    const instant = new Date(typed);
    onApply(Number.isNaN(instant.getTime()) ? undefined : instant.toISOString());
  };
  return (
    <TextInput
      label={label}
      classNames={{ label: css.label }}
      title={`${label}${value === null ? ': now' : `: ${value}`}`}
      type="datetime-local"
      size="xs"
      style={{ flex: '0 1 212px', minWidth: 200 }}
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={apply}
      onKeyDown={(event) => {
        if (event.key === 'Enter') apply();
      }}
    />
  );
}

/** In the form of an input of type `datetime-local`. Empty: not an instant. */
function localOf(value: string | null): string {
  const instant = new Date(value ?? Number.NaN);
  if (Number.isNaN(instant.getTime())) return '';
  return new Date(instant.getTime() - instant.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
