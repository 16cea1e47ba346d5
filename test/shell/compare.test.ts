// Generated lines, compared with what a real bash looks up. `TOLLGATE_TEST_LINES` raises the number of lines that are
// compared, and then each run has lines of its own. The seed is printed, and `TOLLGATE_TEST_SEED` repeats it.
import { describe, expect, test } from 'vitest';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import { needs } from '../support/installed.ts';
import { agentLines, commonNames } from './agent-lines.ts';
import { compareLines, reportOf } from './compare.ts';
import { generateLines } from './generate.ts';
import { readLine } from './read-line.ts';

const lines = process.env['TOLLGATE_TEST_LINES'];
const wanted = Number(lines ?? 1_500);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? (lines === undefined ? 1_371_127_912 : Math.floor(Math.random() * 2 ** 31)));
const timeout = Math.max(120_000, wanted * 60);
const read = (line: string) => readLine(line, commonNames);

describe('next to a real bash', needs('unshare'), () => {
  test('no generated line hides a command that bash looks up, unless it is undecided', { timeout }, async () => {
    const comparison = await compareLines(generateLines(seed), read, wanted);
    process.stdout.write(`seed ${seed}: ${reportOf(comparison)}\n`);
    expect(comparison.hidden.slice(0, 20), `seed ${seed}`).toEqual([]);
    expect(comparison.compared).toBeGreaterThanOrEqual(wanted);
  });

  test('each decided line of an agent shows all that bash looks up', { timeout }, async () => {
    const { hidden, compared } = await compareLines(agentLines, read, agentLines.length);
    expect(hidden).toEqual([]);
    expect(compared).toBeGreaterThan(100);
  });

  test('the comparison finds a reader that hides commands, or shows them with other words', { timeout }, async () => {
    const hiding = await compareLines(
      ['git status', 'git log "$(curl x)"'],
      (line) => {
        const shown = readLine(line);
        return shown instanceof Undecided ? shown : shown.filter(({ name }) => name !== 'curl');
      },
      2,
    );
    expect(hiding.hidden).toEqual([{ line: 'git log "$(curl x)"', lookedUp: ['curl', 'x'] }]);
    const changing = await compareLines(
      ['git status a'],
      (line) => {
        const shown = readLine(line);
        return shown instanceof Undecided ? shown : shown.map((command) => ({ ...command, words: ['status'] }));
      },
      1,
    );
    expect(changing.hidden).toEqual([{ line: 'git status a', lookedUp: ['git', 'status', 'a'] }]);
  });

  test('a builtin, a redirect and both branches of a line are compared', { timeout }, async () => {
    const lines = Array.from({ length: 20 }, () => 'if git diff; then cd a; else [ -f b ]; fi > c; echo d >> /dev/null && e || f');
    const seen = new Set<string>();
    const { hidden } = await compareLines(
      lines,
      (line) => {
        const shown = readLine(line);
        if (!(shown instanceof Undecided)) for (const { name } of shown) if (typeof name === 'string') seen.add(name);
        return shown;
      },
      20,
    );
    expect(hidden).toEqual([]);
    expect([...seen]).toEqual(['', 'git', 'cd', '[', 'echo', 'e', 'f']);
  });
});

test('most lines of agents are decided, if the rule names common variables', () => {
  const undecided = agentLines.filter((line) => read(line) instanceof Undecided);
  expect(new Set(agentLines).size).toBe(agentLines.length);
  expect(agentLines.length).toBeGreaterThanOrEqual(150);
  expect(undecided.length / agentLines.length, undecided.join('\n')).toBeLessThan(0.35);
});
