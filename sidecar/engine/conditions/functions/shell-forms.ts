// The forms of lines that the parser may read in another way than some version of bash, and those that take long to read.
import type { HereDoc, SyntaxNode, Word } from 'unbash';

/** Substitutions and expansions of one line. */
const openingsMax = 128;
/** A text is read again for each expansion around it: the product of their number and the length of the line. */
const rereadMax = 32 * 8_192;

// Control characters other than tab and line feed. bash drops NUL, and a carriage return is a part of a word.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const loneSurrogate = /[\ud800-\udfff]/u;
/** Continuations inside of an operator or an expansion, and between a file descriptor and its redirect. */
const splitOperator = /[$(<>]\\\n|\\\n[\w}]*[<>]/;
const opening = /\$[({[]|[<>?*+@!=(]\(|`/g;

/** The expansions of a line. Each of them reads the line once more, from where it begins. */
export const countOpenings = (line: string): number => line.match(opening)?.length ?? 0;

/** Rejects lines that take long to parse, and those whose end may join with a text that the tool appends. */
export function isPlausible(line: string): boolean {
  if (control.test(line) || loneSurrogate.test(line) || line.endsWith('\\')) return false;
  if (splitOperator.test(line)) return false;
  const openings = countOpenings(line);
  return openings <= openingsMax && openings * line.length <= rereadMax;
}

const reserved: ReadonlySet<string> = new Set(
  '! { } [[ ]] time if then elif else fi for while until do done case esac in function select coproc'.split(' '),
);

/**
 * Whether the name of a command is certainly its name. After a redirect bash takes some reserved words, and the options of
 * `time`, for what they are elsewhere.
 */
export function isCertainName({ text }: Word, isAfterRedirect: boolean): boolean {
  const name = text.replaceAll('\\\n', '');
  return !name.startsWith('-') && !(isAfterRedirect && reserved.has(name));
}

/** Whether a group begins at the very first character of the group around it. */
export function isDoubled({ pos, body }: Extract<SyntaxNode, { type: 'Subshell' }>): boolean {
  let first = body as SyntaxNode | undefined;
  while (first !== undefined && first.pos === pos + 1) {
    if (first.type === 'Subshell' || first.type === 'ArithmeticCommand') return true;
    if (first.type === 'Statement' || first.type === 'Redirected') first = first.command;
    else if (first.type === 'CompoundList' || first.type === 'AndOr' || first.type === 'Pipeline') [first] = first.commands;
    else return false;
  }
  return false;
}

/**
 * Whether bash finds the end of a here-document where the parser finds it. It may differ behind an escaped delimiter, on a
 * line that is continued, and inside a substitution on a line that only begins with the delimiter.
 */
export function hasCertainEnd({ operator, delimiter, body, closing }: HereDoc): boolean {
  if (closing === undefined || delimiter === undefined) return false;
  if (!/^(?:[\w.-]+|'[\w.-]+'|"[\w.-]+"|\\[\w.-]+)$/.test(delimiter.text)) return false;
  if (!delimiter.quoted && body.text.includes('\\\n')) return false;
  const lines = body.text.split('\n').map((line) => (operator === '<<-' ? line.replace(/^\t+/, '') : line));
  return !lines.some((line) => line.startsWith(delimiter.value));
}
