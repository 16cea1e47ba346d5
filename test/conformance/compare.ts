// Compares two runs of the suite: the same server alone and through the proxy.
import { type Revision, type Scenario, suite } from './suite.ts';

type Run = readonly Scenario[];

export interface Comparison {
  readonly revision: Revision;
  readonly alone: Run;
  readonly proxied: Run;
  /** Each scenario with a difference, with both sides. */
  readonly differences: readonly string[];
}

const statuses = (run: Run, name: string): string =>
  (run.find((one) => one.name === name)?.checks ?? []).map(({ id, status }) => `    ${status} ${id}`).join('\n');

const reasons = (run: Run, name: string): string =>
  (run.find((one) => one.name === name)?.checks ?? [])
    .filter(({ status }) => status !== 'SUCCESS')
    .map(({ id, errorMessage = '' }) => `    ${id}: ${errorMessage}`)
    .join('\n');

export function compare(revision: Revision, alone: Run, proxied: Run): Comparison {
  const names = [...new Set([...alone, ...proxied].map(({ name }) => name))].toSorted();
  const differing = names.filter((name) => statuses(alone, name) !== statuses(proxied, name));
  const differences = differing.map((name) =>
    [
      `${revision} ${name}`,
      '  alone',
      statuses(alone, name),
      '  proxied',
      statuses(proxied, name),
      '  because',
      reasons(proxied, name),
    ].join('\n'),
  );
  return { revision, alone, proxied, differences };
}

/** Of the checks that pass or fail: how many pass. */
function tally(run: Run, required: boolean): string {
  const checks = run.filter((one) => one.required === required).flatMap((one) => one.checks);
  const told = checks.filter(({ status }) => status !== 'INFO' && status !== 'SKIPPED');
  return `${told.filter(({ status }) => status === 'SUCCESS').length} of ${told.length}`;
}

/** The table of docs/reference/conformance.md: what passes, in how many scenarios, and what differs. */
export function tableOf(comparisons: readonly Comparison[]): string {
  const rows = comparisons.flatMap(({ revision, alone, proxied, differences }) =>
    [true, false].map((required) => {
      const names = alone.filter((one) => one.required === required).map(({ name }) => name);
      const differing = differences.filter((text) => names.some((name) => text.startsWith(`${revision} ${name}\n`))).length;
      const what = `${revision}, ${required ? 'required' : 'not scored'}`;
      return `| ${what} | ${names.length} | ${tally(alone, required)} | ${tally(proxied, required)} | ${differing === 0 ? 'none' : differing} |`;
    }),
  );
  const head = `| \`${suite}\` | scenarios | checks that pass alone | through the proxy | scenarios that differ |`;
  return [head, '|---|---|---|---|---|', ...rows].join('\n');
}
