// The words of commands that start another program: options such as `-exec`, subcommands such as `npm exec`, and scripts
// of sed and awk.
import { isText, type LineWord, mayBeOption } from './shell-words.ts';

/** Words that start a program. Only these are launchers; other words of the command are not. */
interface Starting {
  /** Long options without dashes. Most programs accept them shortened. */
  readonly long?: readonly string[];
  /** Letters of short options. They may be written together, and with their value. */
  readonly short?: string;
  /** Whole words. */
  readonly words?: readonly string[];
  /** Subcommands. They may be shortened. */
  readonly commands?: readonly string[];
  /** The subcommands that start no program of their own words. All others are taken for launchers. */
  readonly except?: readonly string[];
  /** Options whose value is the next word, so that it is no option if it is one word. */
  readonly valued?: readonly string[];
}

export type Rule = Starting | ((words: readonly LineWord[]) => boolean);

/** Splits a text at blanks. */
export const list = (text: string): readonly string[] => text.split(' ');

/** Whether one of the words starts a program. */
export function starts(rule: Rule, words: readonly LineWord[]): boolean {
  if (typeof rule === 'function') return rule(words);
  const { commands, except, valued = [] } = rule;
  if ((commands !== undefined || except !== undefined) && isLaunchingCommand(rule, words)) return true;
  if (rule.long === undefined && rule.short === undefined && rule.words === undefined) return false;
  return words.some((word, at) => {
    if (isText(word)) return isStartingWord(rule, word);
    const before = words[at - 1];
    return mayBeOption(word) && !(word.isOneWord && isText(before) && valued.includes(before));
  });
}

/** Options before the subcommand may have values, so then every word may be the subcommand. */
function isLaunchingCommand({ commands = [], except }: Starting, words: readonly LineWord[]): boolean {
  const [first] = words;
  if (first === undefined) return false;
  if (!isText(first)) return true;
  if (except !== undefined) return !except.includes(first) && !/^--?(?:version|help|v|h|V)$/.test(first);
  const isOne = (word: LineWord): boolean =>
    !isText(word) || commands.some((command) => command === word || (word.length > 1 && command.startsWith(word)));
  return first.startsWith('-') ? words.some(isOne) : isOne(first);
}

function isStartingWord({ long = [], short = '', words = [] }: Starting, word: string): boolean {
  if (words.includes(word.replace(/=[^]*$/, ''))) return true;
  if (word.startsWith('--')) {
    const name = word.slice(2).replace(/=[^]*$/, '');
    return name !== '' && long.some((option) => option.startsWith(name));
  }
  return word.startsWith('-') && short.split('').some((letter) => word.includes(letter));
}

const ofTar: Rule = {
  long: list('to-command checkpoint-action use-compress-program rsh-command info-script new-volume-script'),
  short: 'IF',
};

/** The first word of tar contains options, with a dash or without. */
export function startsByTar([first, ...others]: readonly LineWord[]): boolean {
  return first !== undefined && starts(ofTar, [isText(first) && !first.startsWith('-') ? `-${first}` : first, ...others]);
}

const harmlessOfGit: ReadonlySet<string> = new Set(list('--no-pager -P --no-optional-locks --literal-pathspecs --version --help -v -h'));

/** The subcommands of git that run a command of their words, or of the configuration that they change. */
const ofGit: Readonly<Record<string, Rule>> = {
  clone: { long: list('upload-pack config template'), short: 'uc', valued: list('-b --branch --depth -o --origin') },
  fetch: { long: list('upload-pack') },
  pull: { long: list('upload-pack') },
  push: { long: list('receive-pack exec') },
  'ls-remote': { long: list('upload-pack exec') },
  'fetch-pack': { long: list('upload-pack exec') },
  'send-pack': { long: list('receive-pack exec') },
  archive: { long: list('exec') },
  grep: { long: list('open-files-in-pager'), short: 'O' },
  rebase: { long: list('exec'), short: 'x' },
  init: { long: list('template') },
  bisect: { except: list('start good bad new old skip reset log terms') },
  submodule: { except: list('status init update sync summary') },
  config: { except: list('--get --get-all --get-regexp --list -l get list') },
};
const runnersOfGit: ReadonlySet<string> = new Set([
  ...list('difftool difftool--helper mergetool mergetool--lib filter-branch filter-repo instaweb web--browse send-email svn p4 daemon'),
  ...list('upload-archive upload-pack receive-pack remote-ext cvsimport cvsserver gui citool gitk for-each-repo hook maintenance'),
  ...list('shell merge-index merge-one-file submodule--helper archimport quiltimport'),
]);

export function startsByGit(words: readonly LineWord[]): boolean {
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at];
    if (!isText(word)) return true;
    if (!word.startsWith('-')) break;
    if (word !== '-C' && !harmlessOfGit.has(word)) return true;
    if (word !== '-C') continue;
    at += 1;
    const folder = words[at];
    if (folder !== undefined && !isText(folder) && !folder.isOneWord) return true;
  }
  const subcommand = words[at];
  if (!isText(subcommand)) return false;
  const rest = words.slice(at + 1);
  if (runnersOfGit.has(subcommand) || rest.some((word) => isText(word) && word.startsWith('ext::'))) return true;
  // It may write the configuration, in which the next command of the line finds what to start.
  if (rest.some((word) => isText(word) && word.startsWith('--ou'))) return true;
  const rule = Object.hasOwn(ofGit, subcommand) ? ofGit[subcommand] : undefined;
  return rule !== undefined && starts(rule, rest);
}

const sedAddress = String.raw`(?:\d+|\$|\/(?:[^\\\/\n]|\\.)*\/I?)`;
const sedSubstitution = String.raw`s([\/|#,@:!])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpIi\d]*`;
/** A script of sed without the command `e`, and without the flag `e` of a substitution. */
const harmlessSed = new RegExp(String.raw`^(?:${sedAddress}(?:,(?:${sedAddress}|\+\d+))? ?!? ?)?(?:[dDgGhHnNpPqx=]|${sedSubstitution})$`);

export function startsBySed(words: readonly LineWord[]): boolean {
  if (words.some((word) => !isText(word) && mayBeOption(word))) return true;
  const texts = words.map((word) => (isText(word) ? word : null));
  if (texts.some((text) => text !== null && /^(?:-[a-zA-Z]*f|--f|--e=?|--ex)/.test(text))) return true;
  const named = texts.filter((_, at) => isScriptOption(texts[at - 1]));
  if (texts.some((text) => text !== null && /^-[a-zA-Z]*e/.test(text) && !isScriptOption(text))) return true;
  const scripts = named.length > 0 ? named : texts.filter((text) => text === null || !text.startsWith('-')).slice(0, 1);
  return scripts.some((script) => script === null || !harmlessSed.test(script));
}

const isScriptOption = (text: string | null | undefined): boolean => typeof text === 'string' && /^-[nErsz]?e$/.test(text);

/** Programs of awk that only print fields. Others may call `system`. */
const harmlessAwk = /^(?:NR ?[=<>!]=? ?\d+ ?)?(?:\{ ?print(?: ?\$(?:\d+|NF)(?: ?, ?\$(?:\d+|NF))*)? ?\})?$/;

export function startsByAwk(words: readonly LineWord[]): boolean {
  const program = words.findIndex((word) => !isText(word) || !word.startsWith('-F'));
  const [separator, text, ...files] = words[program - 1] === '-F' ? words.slice(program) : ['', ...words.slice(program)];
  return !isText(separator) || !isText(text) || !harmlessAwk.test(text) || files.some((file) => !isText(file) || file.startsWith('-'));
}
