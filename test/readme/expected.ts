// Compares the answer that a page shows with the output of a block. Called by `run-blocks.ts`.

/**
 * The comments on lines of their own in a block of shell commands: each is a line of the answer, in which `…` matches
 * any text.
 */
export const expectedOfShell = (text: string): readonly string[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('# '))
    .map((line) => line.slice(2));

/**
 * The commands of a console block, with the other lines empty so that line numbers stay, and the first line of output
 * of each.
 */
export function readConsole(text: string): { readonly commands: string; readonly expected: readonly string[] } {
  const lines = text.split('\n');
  const isCommand = (line: string | undefined): boolean => line?.startsWith('$ ') ?? false;
  return {
    commands: lines.map((line) => (isCommand(line) ? line.slice(2) : '')).join('\n'),
    expected: lines.filter((line, at) => !isCommand(line) && isCommand(lines[at - 1])),
  };
}

/**
 * The first expected line that is missing from the output, in the given order; null: none is missing. Widths of columns
 * do not count.
 */
export function findMissing(expected: readonly string[], output: string): string | null {
  const lines = output.split('\n').map(normalize);
  let from = 0;
  for (const line of expected) {
    const pattern = patternOf(line);
    const at = lines.findIndex((printed, index) => index >= from && pattern.test(printed));
    if (at === -1) return line;
    from = at + 1;
  }
  return null;
}

const normalize = (line: string): string => line.trim().replaceAll(/\s+/g, ' ');

function patternOf(line: string): RegExp {
  const escaped = normalize(line).replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  // Inside a JSON string it matches the rest of that string, not further fields.
  return new RegExp(`^${escaped.replaceAll('…"', String.raw`(?:[^"\\]|\\.)*"`).replaceAll('…', '.*')}$`);
}
