// Filters of a page in its address, so that what a reader sees can be sent as a link.
import { useCallback, useMemo } from 'react';
import { useSearchParams } from 'react-router';

export type Filters<Name extends string> = Readonly<Partial<Record<Name, string>>>;

/** Returns the filters that are set, and a function that changes some of them. `undefined` removes a filter. */
export function useUrlFilters<Name extends string>(
  names: readonly Name[],
): readonly [Filters<Name>, (changes: Readonly<Partial<Record<Name, string | undefined>>>) => void] {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => {
    const found: Partial<Record<Name, string>> = {};
    for (const name of names) {
      const value = params.get(name);
      if (value !== null && value !== '') found[name] = value;
    }
    return found;
  }, [params, names]);
  const change = useCallback(
    (changes: Readonly<Partial<Record<Name, string | undefined>>>) => {
      setParams((before) => {
        const after = new URLSearchParams(before);
        for (const name of names) {
          if (!Object.hasOwn(changes, name)) continue;
          const value = changes[name]?.trim() ?? '';
          if (value === '') after.delete(name);
          else after.set(name, value);
        }
        return after;
      });
    },
    [setParams, names],
  );
  return [filters, change];
}
