// Writes the demo's output to standard output. It has colours on a terminal, but not if NO_COLOR is set or the terminal
// is `dumb`.
const coloured = process.stdout.isTTY && (process.env['NO_COLOR'] ?? '') === '' && process.env['TERM'] !== 'dumb';

const paint =
  (code: number) =>
  (text: string): string =>
    coloured ? `\x1b[${code}m${text}\x1b[0m` : text;

export const [bold, red, green, yellow] = [paint(1), paint(31), paint(32), paint(33)] as const;
const dim = paint(2);

/** The width of the output, in characters. */
const columns = 108;
const factIndent = 18;

export function print(text = ''): void {
  process.stdout.write(`${text}\n`);
}

/** Prints the title of the next step, and why the step matters. */
export function heading(title: string, why: string): void {
  print();
  print(bold(title));
  for (const line of wrap(why, columns)) print(dim(line));
  print();
}

export function fact(name: string, text: string): void {
  const [first, ...rest] = wrap(text, columns - factIndent);
  print(`  ${name.padEnd(factIndent - 3)} ${first ?? ''}`);
  for (const line of rest) print(' '.repeat(factIndent) + line);
}

/** Prints more about the line above. */
export function note(text: string, indent = factIndent): void {
  wrap(text, columns - indent - 2).forEach((line, at) => print(dim(`${' '.repeat(indent)}${at === 0 ? '└' : ' '} ${line}`)));
}

/** Prints a command that a person types, and its output as it is. */
export function session(command: string, output: string): void {
  print(bold(`  $ ${command}`));
  for (const line of output.trimEnd().split('\n')) print(`  ${line}`);
}

/** Breaks a text into lines, between words. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
