// Compares what `shell()` shows of lines with the commands that a real bash looks up for them.
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import type { SimpleCommand } from '../../sidecar/engine/conditions/functions/shell.ts';
import { createBash } from './bash.ts';

export interface Comparison {
  /** The lines of which bash looked up a command. */
  readonly compared: number;
  /** The commands that it looked up. */
  readonly commands: number;
  /** The lines that were left out, by reason. */
  readonly leftOut: Readonly<Record<'undecided' | 'name known only when it runs' | 'nothing looked up' | 'not run to its end', number>>;
  /** The lines that hide a command, or show it with other words. */
  readonly hidden: readonly { readonly line: string; readonly lookedUp: readonly string[] }[];
}

type Read = (line: string) => readonly SimpleCommand[] | Undecided;

const batchSize = 500;
const lineLengthMax = 1_000;

/** Compares lines until `wanted` lines have been compared. */
export async function compareLines(lines: Iterable<string>, read: Read, wanted: number): Promise<Comparison> {
  const bash = createBash();
  const leftOut = { undecided: 0, 'name known only when it runs': 0, 'nothing looked up': 0, 'not run to its end': 0 };
  const hidden: { line: string; lookedUp: readonly string[] }[] = [];
  let [compared, commands] = [0, 0];
  const compareBatch = async (batch: readonly (readonly [line: string, shown: readonly SimpleCommand[]])[]): Promise<void> => {
    const run = await bash.run(batch.map(([line]) => line));
    for (const [at, [line, shown]] of batch.entries()) {
      const { commands: lookedUp = [], hasEnded = false } = run[at] ?? {};
      const missing = lookedUp.filter((words) => !shown.some((command) => isShownBy(command, words)));
      commands += lookedUp.length;
      if (missing.length > 0 && shown.some(({ name }) => name instanceof Undecided)) leftOut['name known only when it runs'] += 1;
      else if (missing[0] !== undefined) hidden.push({ line, lookedUp: missing[0] });
      else if (lookedUp.length > 0) compared += 1;
      else leftOut[hasEnded ? 'nothing looked up' : 'not run to its end'] += 1;
    }
  };
  try {
    let batch: (readonly [string, readonly SimpleCommand[]])[] = [];
    for (const line of lines) {
      const shown = line.length > lineLengthMax ? null : read(line);
      if (shown === null || shown instanceof Undecided) leftOut.undecided += 1;
      else batch.push([line, shown]);
      if (batch.length < batchSize) continue;
      await compareBatch(batch);
      batch = [];
      if (compared >= wanted) return { compared, commands, leftOut, hidden };
    }
    await compareBatch(batch);
    return { compared, commands, leftOut, hidden };
  } finally {
    bash.close();
  }
}

function isShownBy({ name, words }: SimpleCommand, [lookedUp, ...others]: readonly string[]): boolean {
  if (name !== lookedUp) return false;
  if (words instanceof Undecided) return true;
  return words.length === others.length && words.every((word, at) => word instanceof Undecided || word === others[at]);
}

export const reportOf = ({ compared, commands, leftOut }: Comparison): string =>
  [
    `${compared} lines compared with bash, which looked up ${commands} commands`,
    ...Object.entries(leftOut).map(([why, count]) => `left out: ${count}, ${why}`),
  ].join('\n  ');
