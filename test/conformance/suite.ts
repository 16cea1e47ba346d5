// One run of the official conformance suite, as its command line runs it, and the result of each check.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOnNode24 } from './on-node-24.ts';

export const revisions = ['2025-11-25', '2026-07-28'] as const;
export type Revision = (typeof revisions)[number];

export const suite = '@modelcontextprotocol/conformance@0.2.0-alpha.12';

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

export interface Scenario {
  readonly name: string;
  /** False: the suite runs it in addition to what the revision requires, and does not score it. */
  readonly required: boolean;
  /** In the order in which the suite made them. */
  readonly checks: readonly Check[];
}

/** Every scenario that the revision requires, and the additional ones, by name. */
export async function runSuite(url: string, revision: Revision): Promise<readonly Scenario[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-conformance-'));
  try {
    // It ends with 1 where a check failed; the failures are in the folder.
    const { out, err } = await runOnNode24(suite, ['conformance', 'server', '--url', url, '--requirements', revision, '-o', folder]);
    const unscored = new Set([...out.matchAll(/^ {2}[✓✗] (\S+) \([a-z-]+\)$/gm)].map(([, name]) => name));
    const scenarios = readdirSync(folder).map((entry): Scenario => {
      const name = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1] ?? entry;
      // In the format that the suite writes.
      const checks = JSON.parse(readFileSync(join(folder, entry, 'checks.json'), 'utf8')) as readonly Check[];
      return { name, required: !unscored.has(name), checks };
    });
    if (scenarios.length === 0) throw new Error(`the suite left no results:\n${out.slice(-2_000)}${err.slice(-2_000)}`);
    return scenarios.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
