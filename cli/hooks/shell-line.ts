// Splits the line that a host passes to a shell into its commands, if the line is plain: words, quotes, redirections
// and the operators between commands. Pure: it runs nothing, and treats a variable as text. If the line contains
// anything else, the result is null, and the caller must report that.

/** The shell that reads the line. `cmd` is the shell of Windows. */
export type Shell = 'sh' | 'cmd' | 'powershell';

interface Word {
  /** The word without its quotes. */
  readonly text: string;
  /** The offsets in the line, including the quotes. */
  readonly from: number;
  readonly to: number;
}

export interface ShellCommand {
  readonly words: readonly Word[];
  /** The redirections as written: `2>`, `<`, `>&`. */
  readonly redirections: readonly string[];
  /** The operator between the previous command and this one; null: this is the first. */
  readonly joined: string | null;
  readonly from: number;
}

export interface ShellLine {
  readonly commands: readonly ShellCommand[];
  /** The operator after the last command, such as `&` or `;`; null: none. */
  readonly end: string | null;
}

interface Grammar {
  readonly joints: RegExp;
  readonly redirection: RegExp;
  /** The escape character: the character after it has no special meaning. */
  readonly escape: string;
  /** The quote character between which every character is literal. */
  readonly literal: string;
  readonly comment: boolean;
  /**
   * Matches what is not allowed in a plain line: the start of a group, or the start of a command inside a word.
   * `beyondInQuotes`: what is not allowed between double quotes.
   */
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

/** The maximum length of a line for cmd.exe. */
const charactersMax = 8_191;

/**
 * Splits a line into its commands. Null: the line contains more than plain commands, has an open quote, or is too long.
 */
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
    // An empty command is allowed before a newline, before `;`, and before the `&` with which PowerShell starts a
    // quoted program.
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

/**
 * Whether the escape character applies to `next` between double quotes. In sh, it applies only to a few characters.
 * Before any other character, a backslash stays, as in `"C:\node.exe"`. In cmd there is no escape between quotes.
 */
const escapedInQuotes = ({ escape }: Grammar, next: string): boolean => (escape === '\\' ? /["$`\\\n]/.test(next) : escape === '`');

const isBlank = (sign: string | undefined): boolean => sign === ' ' || sign === '\t';

/** Returns the offset after spaces, tabs and escaped newlines. An escaped newline does not end the line. */
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
