// Splits the line that a host gives to a shell into its commands, as far as such a line is plain: words, quotes, redirections and
// what joins commands. Pure. It runs nothing, and a variable is text to it: a line that does more is null, and its reader has to
// say so.

/** Which shell reads it. `cmd` is that of Windows. */
export type Shell = 'sh' | 'cmd' | 'powershell';

interface Word {
  /** Without its quotes. */
  readonly text: string;
  /** Where it stands in the line, with its quotes. */
  readonly from: number;
  readonly to: number;
}

export interface ShellCommand {
  readonly words: readonly Word[];
  /** As they are written: `2>`, `<`, `>&`. */
  readonly redirections: readonly string[];
  /** What joins it to the one before; null: it is the first. */
  readonly joined: string | null;
  readonly from: number;
}

export interface ShellLine {
  readonly commands: readonly ShellCommand[];
  /** What stands behind the last command: `&`, `;`. */
  readonly end: string | null;
}

interface Grammar {
  readonly joints: RegExp;
  readonly redirection: RegExp;
  /** What makes the next character a plain one. */
  readonly escape: string;
  /** What quotes as a whole, nothing in it being read. */
  readonly literal: string;
  readonly comment: boolean;
  /** What begins a group or a command in the place of a word; between double quotes too. */
  readonly beyond: RegExp;
  readonly beyondInQuotes: RegExp;
}

const grammars: Readonly<Record<Shell, Grammar>> = {
  sh: {
    joints: /(?:&&|\|\||\|&|;|\n|\||&(?!>))/y,
    redirection: /\d*(?:&>>?|>>|>&|>\||<&|<<<?|<>|<|>)/y,
    escape: '\\',
    literal: "'",
    comment: true,
    beyond: /[()`]/y,
    beyondInQuotes: /`|\$\(/y,
  },
  cmd: {
    joints: /(?:&&|\|\||&|\||\r?\n)/y,
    redirection: /\d?(?:>>|>&|<&|<|>)/y,
    escape: '^',
    literal: '',
    comment: false,
    beyond: /[()]/y,
    beyondInQuotes: /(?!)/y,
  },
  powershell: {
    joints: /(?:&&|\|\||;|\r?\n|\||&)/y,
    redirection: /(?:\d|\*)?(?:>>|>&|<|>)/y,
    escape: '`',
    literal: "'",
    comment: true,
    beyond: /[()]/y,
    beyondInQuotes: /\$\(/y,
  },
};

const keywords: ReadonlySet<string> = new Set(['!', '{', '}', 'if', 'for', 'while', 'until', 'case', 'function', 'time', '[[']);

/** As much as cmd.exe takes. */
const charactersMax = 8_191;

/** Null: it has more than plain commands in it, or a quote that is left open, or it is too long. */
export function parseShellLine(line: string, shell: Shell): ShellLine | null {
  if (line.length > charactersMax) return null;
  const grammar = grammars[shell];
  const commands: ShellCommand[] = [];
  let [at, joined]: [number, string | null] = [0, null];
  for (;;) {
    const command = readCommand(line, at, grammar);
    if (command === null) return null;
    const isEmpty = command.words.length === 0 && command.redirections.length === 0;
    if (!isEmpty) commands.push({ ...command, joined });
    const joint = matchAt(grammar.joints, line, command.to);
    if (joint === null) return { commands, end: isEmpty ? joined : null };
    // Before the first command stands nothing but the `&` by which PowerShell starts what is quoted.
    const isCall = isEmpty && shell === 'powershell' && joint === '&';
    if (isEmpty && !isCall && joint !== '\n' && joint !== ';') return null;
    if (!isEmpty) joined = joint === '\n' || joint === '\r\n' ? ';' : joint;
    at = command.to + joint.length;
  }
}

type Read = Omit<ShellCommand, 'joined'> & { readonly to: number };

function readCommand(line: string, start: number, grammar: Grammar): Read | null {
  const words: Word[] = [];
  const redirections: string[] = [];
  let at = skipBlanks(line, start, grammar);
  const from = at;
  while (at < line.length) {
    if (grammar.comment && line[at] === '#') {
      const end = line.indexOf('\n', at);
      at = end === -1 ? line.length : end;
      break;
    }
    const redirection = matchAt(grammar.redirection, line, at);
    if (redirection === null && matchAt(grammar.joints, line, at) !== null) break;
    const word = readWord(line, skipBlanks(line, at + (redirection?.length ?? 0), grammar), grammar);
    if (word === null || (word.to === word.from && redirection !== null)) return null;
    if (redirection !== null) redirections.push(redirection);
    else if (words.length === 0 && keywords.has(line.slice(word.from, word.to))) return null;
    else words.push(word);
    at = skipBlanks(line, word.to, grammar);
  }
  return { words, redirections, from, to: at };
}

function readWord(line: string, from: number, grammar: Grammar): Word | null {
  let text = '';
  let at = from;
  while (at < line.length && !isBlank(line[at]) && matchAt(grammar.joints, line, at) === null) {
    const sign = line[at] ?? '';
    if (sign === '"' || sign === grammar.literal) {
      const quoted = readQuoted(line, at, grammar);
      if (quoted === null) return null;
      text += quoted.text;
      at = quoted.to;
    } else if (sign === grammar.escape) {
      text += line[at + 1]?.replace('\n', '') ?? '';
      at += 2;
    } else if (matchAt(grammar.beyond, line, at) !== null) return null;
    else if (sign === '<' || sign === '>') break;
    else {
      text += sign;
      at++;
    }
  }
  return { text, from, to: Math.min(at, line.length) };
}

function readQuoted(line: string, from: number, grammar: Grammar): { readonly text: string; readonly to: number } | null {
  const quote = line[from];
  let text = '';
  for (let at = from + 1; at < line.length; at++) {
    const sign = line[at] ?? '';
    if (sign === quote) return { text, to: at + 1 };
    const next = line[at + 1] ?? '';
    if (quote === '"' && sign === grammar.escape && escapedInQuotes(grammar, next)) {
      text += next;
      at++;
    } else if (quote === '"' && matchAt(grammar.beyondInQuotes, line, at) !== null) return null;
    else text += sign;
  }
  return null;
}

/** sh leaves a backslash before any other character: `"C:\node.exe"`. cmd knows no escape between quotes. */
const escapedInQuotes = ({ escape }: Grammar, next: string): boolean => (escape === '\\' ? /["$`\\\n]/.test(next) : escape === '`');

const isBlank = (sign: string | undefined): boolean => sign === ' ' || sign === '\t';

/** An escaped newline does not end the line. */
function skipBlanks(line: string, from: number, { escape }: Grammar): number {
  let at = from;
  for (;;) {
    if (isBlank(line[at])) at++;
    else if (line.startsWith(`${escape}\n`, at)) at += 2;
    else return at;
  }
}

function matchAt(pattern: RegExp, line: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(line)?.[0] ?? null;
}
