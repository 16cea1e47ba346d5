// Compares two runs of the same benches.
import type { Result } from './measure.ts';

const differenceMax = 0.1;

/**
 * The difference of the two ratios, as a share of the smaller one; for two shares of all calls, the percentage points
 * between them.
 */
function differenceOf(first: number, second: number, unit: string): number {
  if (unit.startsWith('%')) return Math.abs(first - second);
  const [low, high] = [Math.min(first, second), Math.max(first, second)];
  return low === high ? 0 : (high - low) / Math.abs(low);
}

/** Rows with a target above zero whose ratios differ by 10 % or more, and rows that only one run has; in words. */
export function differencesOf(first: readonly Result[], second: readonly Result[]): readonly string[] {
  const judged = (results: readonly Result[]) =>
    new Map(results.filter(({ target }) => target !== null && target !== 0).map((one) => [one.name, one]));
  const [one, two] = [judged(first), judged(second)];
  const differing = [...one].flatMap(([name, { ratio, unit }]) => {
    const again = two.get(name)?.ratio;
    if (again === undefined) return [`${name}: only in the first run`];
    const difference = differenceOf(ratio, again, unit);
    return difference < differenceMax ? [] : [`${name}: ${ratio} and ${again} (${(difference * 100).toFixed(0)} %)`];
  });
  return [...differing, ...[...two.keys()].filter((name) => !one.has(name)).map((name) => `${name}: only in the second run`)];
}
