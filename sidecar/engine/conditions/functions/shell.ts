// `shell(line)`: the simple commands of a line of bash, wherever in it they stand. A line that cannot be read with
// certainty is undecided, and so is one that sets variables, defines functions or starts a launcher, unless the rule
// names it: `shell(line, ["env", "LANG="])`.
import { createRequire } from 'node:module';
import type { HereDoc, ParsedScript, Redirection, SyntaxNode, Word, WordPart } from 'unbash';
import { type Environment, type Site, spend } from '../environment.ts';
import { isList, Undecided } from '../values.ts';
import type { CelFunction } from './function.ts';
import { launcherOf, readsSubscripts } from './launchers.ts';

const lineBytesMax = 8_192;
const nestingMax = 32;
const depthMax = 200;
const separatorsMax = 512;
const commandsMax = 256;

/** One simple command. A part that is only known when the line runs is `Undecided`. */
interface SimpleCommand {
  /** Empty: the command has only redirects or assignments. */
  readonly name: string | Undecided;
  /** The arguments, without the name. `Undecided` as a whole if an expansion may become several words, or none. */
  readonly words: readonly (string | Undecided)[] | Undecided;
  readonly redirects: readonly { readonly operator: string; readonly target?: string | Undecided }[];
  readonly assignments: readonly string[];
  /** Whether any part is expanded when the line runs. */
  readonly dynamic: boolean;
}

const require = createRequire(import.meta.url);
let unbash: typeof import('unbash') | null = null;

/** Loads the parser when the first line is read: most workspaces have no rule about lines. */
function parserOf(): typeof import('unbash') {
  unbash ??= require('unbash') as typeof import('unbash');
  return unbash;
}

/** A line that cannot be read with certainty. */
class Unreadable extends Error {}

function commandsOf(line: string, accepted: ReadonlySet<string>, site: Site): readonly SimpleCommand[] | Undecided {
  if (!isPlausible(line)) return site.unclear;
  try {
    const reading = new Reading(accepted, site);
    reading.node(parserOf().parse(line), 0);
    return reading.commands;
  } catch {
    // The parser recurses, so a line may exhaust the stack. Nothing is known of such a line.
    return site.unclear;
  }
}

// Control characters other than tab and line feed. bash drops NUL, and a carriage return is a part of a word.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;

/** Rejects lines that would take long to parse, and forms that the parser reads in another way than bash. */
function isPlausible(line: string): boolean {
  if (control.test(line) || /[\ud800-\udfff]/.test(line.toWellFormed() === line ? '' : '\ud800')) return false;
  // bash keeps both characters of a backslash and a line feed inside $'…', and the parser drops them.
  if (line.includes("$'") && line.includes('\\\n')) return false;
  let depth = 0;
  let separators = 0;
  for (const character of line) {
    if (opening.has(character)) depth += 1;
    else if (closing.has(character)) depth = Math.max(0, depth - 1);
    if (separating.has(character)) separators += 1;
    if (depth > nestingMax || separators > separatorsMax) return false;
  }
  return (line.match(/`/g)?.length ?? 0) <= 2 * nestingMax;
}

const opening = new Set('({[');
const closing = new Set(')}]');
const separating = new Set(';&|\n(');

class Reading {
  readonly commands: SimpleCommand[] = [];
  readonly #accepted: ReadonlySet<string>;
  readonly #site: Site;

  constructor(accepted: ReadonlySet<string>, site: Site) {
    this.#accepted = accepted;
    this.#site = site;
  }

  node(node: SyntaxNode | ParsedScript, depth: number): void {
    if (depth > depthMax) throw new Unreadable();
    if ('errors' in node && node.errors !== undefined && node.errors.length > 0) throw new Unreadable();
    this.#check(node);
    parserOf().forEachChild(node as SyntaxNode, (child) => this.node(child, depth + 1));
  }

  #check(node: SyntaxNode | ParsedScript): void {
    switch (node.type) {
      case 'Command':
        this.#command(node);
        return;
      case 'Function':
      case 'Coproc':
        throw new Unreadable();
      // A loop sets its variable.
      case 'For':
      case 'Select':
        this.#accept(`${node.name.value}=`);
        return;
      case 'ArithmeticFor':
        this.#accept('((');
        return;
      case 'ArithmeticCommand':
        if (/[=[]|\+\+|--/.test(node.body)) this.#accept('((');
        return;
      case 'ArithmeticExpansion':
        if (/[=[]|\+\+|--/.test(node.text.replace(/^\$\(\(/, ''))) this.#accept('((');
        return;
      case 'Default':
        if (node.operator === '=' || node.operator === ':=') throw new Unreadable();
        return;
      // `${x@P}` expands a text that it finds in a variable, and `${!x}` reads another variable.
      case 'Transform':
      case 'Unknown':
        throw new Unreadable();
      case 'ParameterExpansion':
        if (node.prefix === '!' || node.index !== undefined) throw new Unreadable();
        return;
      case 'CommandExpansion':
      case 'ProcessSubstitution':
      case 'ArithmeticCommandExpansion':
        if (node.script === undefined) throw new Unreadable();
        return;
      case 'HereDoc':
        if ((node as HereDoc).closing === undefined) throw new Unreadable();
        return;
      // The operands are evaluated as arithmetic, and a subscript in them may contain a command.
      case 'TestUnary':
        if (node.operator === '-v' || node.operator === '-R') throw new Unreadable();
        return;
      case 'TestBinary':
        if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator) && [node.left, node.right].some((word) => !/^-?\d+$/.test(word.value)))
          throw new Unreadable();
        return;
      default:
        return;
    }
  }

  /** A name that the rule must have accepted. */
  #accept(name: string): void {
    if (!this.#accepted.has(name)) throw new Unreadable();
  }

  #command(command: Extract<SyntaxNode, { type: 'Command' }>): void {
    if (this.commands.length >= commandsMax) throw new Unreadable();
    const unclear = this.#site.unclear;
    const assigned = [...command.prefix, ...command.suffix].filter((part) => part.type === 'Assignment');
    for (const { name } of assigned) this.#accept(`${name}=`);
    const name = command.name === undefined ? '' : readWord(command.name);
    const read = command.args.map((word) => (word.type === 'Word' ? readWord(word) : null));
    const redirects = command.redirects.map((redirect) => this.#redirect(redirect));
    if (name === null || typeof name === 'string') this.#start(name, read);
    const hasSeveral = read.includes('several');
    this.commands.push({
      name: typeof name === 'string' && name !== 'several' ? name : unclear,
      words: hasSeveral || name === 'several' ? unclear : read.map((word) => word ?? unclear),
      redirects,
      assignments: assigned.map((assignment) => assignment.name),
      dynamic: name === null || name === 'several' || read.some((word) => word === null || word === 'several') || redirects.some(({ target }) => target instanceof Undecided),
    });
  }

  /** Refuses launchers that the rule does not name. */
  #start(name: string | null, read: readonly (string | null)[]): void {
    // A name that is known only when the line runs may be any launcher.
    if (name === null || name === 'several') return;
    const words = read.map((word) => word ?? '');
    const launcher = launcherOf(name, words);
    if (launcher !== null) this.#accept(launcher);
    if (readsSubscripts.has(name) && words.some((word) => word.includes('['))) throw new Unreadable();
  }

  #redirect(redirect: Redirection): SimpleCommand['redirects'][number] {
    const { operator } = redirect;
    if (redirect.type === 'HereDoc') return { operator };
    if (redirect.type === 'Redirect' && redirect.descriptor?.type === 'FileDescriptorVariable') throw new Unreadable();
    const target = redirect.target === undefined ? null : readWord(redirect.target);
    return { operator, target: target === null || target === 'several' ? this.#site.unclear : target };
  }
}

/** Returns the text of a word. Null: it is one word whose text is not known. `several`: it may be any number of words. */
function readWord(word: Word): string | null | 'several' {
  const { parts } = word;
  // The shell replaces a tilde at the beginning, and after `:` and `=`, with a folder.
  if (/(?:^|[:=])~/.test(word.text)) return null;
  if (parts === undefined) return asText(word.value);
  if (parts.some(mayBeSeveral)) return 'several';
  return parts.every(isFixed) ? asText(word.value) : null;
}

/** A word that is equal to the mark of several words cannot be told from it. */
const asText = (value: string): string | null => (value === 'several' ? null : value);

const fixed: ReadonlySet<WordPart['type']> = new Set(['Literal', 'SingleQuoted', 'AnsiCQuoted']);

const isFixed = (part: WordPart): boolean =>
  fixed.has(part.type) || (part.type === 'DoubleQuoted' && part.parts.every(({ type }) => type === 'Literal'));

/** Only inside of quotes an expansion is one word; and not even there, if it is of all arguments or of an array. */
function mayBeSeveral(part: WordPart): boolean {
  if (fixed.has(part.type)) return false;
  if (part.type !== 'DoubleQuoted') return true;
  return part.parts.some(({ type, text }) => (type === 'SimpleExpansion' || type === 'ParameterExpansion') && /[@[]/.test(text));
}

export const shellFunctions: Readonly<Record<string, CelFunction>> = {
  shell: {
    arity: [1, 2],
    apply: ([line, accepted = []], env, site) => apply(line, accepted, env, site),
  },
};

function apply(line: unknown, accepted: unknown, env: Environment, site: Site): unknown {
  if (typeof line !== 'string' || !isList(accepted) || !accepted.every((name) => typeof name === 'string')) return site.type;
  if (Buffer.byteLength(line) > lineBytesMax || !spend(env, line.length >> 3)) return site.budget;
  return commandsOf(line, new Set(accepted), site);
}
