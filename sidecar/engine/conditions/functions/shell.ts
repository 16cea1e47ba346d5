// `shell(line)`: the simple commands of a line of bash, wherever in it they stand. A line that cannot be read with
// certainty is undecided, and so is one that sets variables, defines functions or starts a launcher, unless the rule
// names it: `shell(line, ["env", "LANG="])`.
import { createRequire } from 'node:module';
import type { Assignment, ParameterExpansionPart, Redirection, SyntaxNode, Word } from 'unbash';
import { type Environment, type Site, spend } from '../environment.ts';
import { isList, Undecided } from '../values.ts';
import type { CelFunction } from './function.ts';
import { evaluatesSubscript, launcherOf, settingBuiltins } from './launchers.ts';
import { Expansions } from './shell-expansions.ts';
import { countOpenings, hasCertainEnd, isCertainName, isDoubled, isPlausible } from './shell-forms.ts';
import { type LineWord, readWord } from './shell-words.ts';

const lineBytesMax = 8_192;
const depthMax = 32;
const nodeDepthMax = 400;
const commandsMax = 256;

/** One simple command. A part that is only known when the line runs is `Undecided`. */
export interface SimpleCommand {
  /** Empty: the command has only redirects or assignments, or the redirects are those of a group or a loop. */
  readonly name: string | Undecided;
  /** The arguments, without the name. `Undecided` as a whole if an expansion may become several words, or none. */
  readonly words: readonly (string | Undecided)[] | Undecided;
  /** A here-document has no target. */
  readonly redirects: readonly { readonly operator: string; readonly target?: string | Undecided }[];
  readonly assignments: readonly string[];
  /** Whether any part is expanded when the line runs. */
  readonly dynamic: boolean;
}

type Unbash = typeof import('unbash');

const require = createRequire(import.meta.url);
let loaded: Unbash | null = null;

/** Loads the parser when the first line is read: most workspaces have no rule about lines. */
function parser(): Unbash {
  loaded ??= require('unbash') as Unbash;
  return loaded;
}

/** A line that cannot be read with certainty. */
class Unreadable extends Error {}

function commandsOf(line: string, accepted: ReadonlySet<string>, site: Site): readonly SimpleCommand[] | Undecided {
  if (!isPlausible(line)) return site.unclear;
  try {
    const reading = new Reading(line, accepted, site);
    reading.read();
    return reading.commands;
  } catch {
    // The parser recurses, so a line may exhaust the stack. Nothing is known of such a line.
    return site.unclear;
  }
}

const numeric = /^\s*-?\d+\s*$/;
const plainNumber = /^(?:\d+|0[xX][\da-fA-F]+)$/;
/** An operand of `-eq` that is no name of a variable. */
const comparable = /^(?:-?\d+|"?\$[?#$!]"?)$/;
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/;

class Reading {
  readonly commands: SimpleCommand[] = [];
  readonly #line: string;
  readonly #accepted: ReadonlySet<string>;
  readonly #site: Site;
  readonly #expansions: Expansions;

  constructor(line: string, accepted: ReadonlySet<string>, site: Site) {
    this.#line = line;
    this.#expansions = new Expansions(line);
    this.#accepted = accepted;
    this.#site = site;
  }

  /** Throws `Unreadable`, or what the parser throws. */
  read(): void {
    this.#node(parser().parse(this.#line), 0, 0);
    if (!this.#expansions.areAllSeen()) throw new Unreadable();
  }

  #node(node: SyntaxNode, depth: number, scripts: number): void {
    if (depth > nodeDepthMax || scripts > depthMax) throw new Unreadable();
    if ('errors' in node && node.errors !== undefined && node.errors.length > 0) throw new Unreadable();
    this.#expansions.see(node);
    this.#check(node);
    const inner = node.type === 'Script' || node.type === 'CompoundList' ? scripts + 1 : scripts;
    parser().forEachChild(node, (child) => this.#node(child, depth + 1, inner));
  }

  #check(node: SyntaxNode): void {
    switch (node.type) {
      case 'Command':
        return this.#command(node);
      case 'Redirected':
        return this.#push('', [], node.redirects, []);
      case 'Assignment':
        return this.#assignment(node);
      case 'ArrayValue':
        if (node.elements.some(({ text }) => text.startsWith('[') && !/^\[\d+\]=/.test(text))) throw new Unreadable();
        return;
      // A loop sets its variable.
      case 'For':
        return this.#accept(`${node.name.value}=`);
      // The value of a variable is evaluated as arithmetic too, and a subscript in it runs the commands that it contains.
      case 'ArithmeticFor':
        return this.#accept('((');
      case 'ArithmeticWord':
        return plainNumber.test(node.value) ? undefined : this.#accept('((');
      case 'ArithmeticCommandExpansion':
        if (node.script === undefined) throw new Unreadable();
        return this.#accept('((');
      case 'ArithmeticExpansion':
      case 'ArithmeticCommand':
        if (node.expression === undefined) throw new Unreadable();
        return;
      case 'Slice':
        return [node.offset, node.length].every((word) => word === undefined || numeric.test(word.value)) ? undefined : this.#accept('((');
      case 'ParameterExpansion':
        return this.#parameter(node);
      // `((` and `$((` that begin no arithmetic are read twice by bash, and then here-documents in them end elsewhere.
      case 'Subshell':
        if (isDoubled(node)) throw new Unreadable();
        return;
      case 'CommandExpansion':
        // The parser reads a text with escapes in backticks apart from the line.
        if (node.script === undefined || node.text.startsWith('$((') || /^`.*\\/s.test(node.text)) throw new Unreadable();
        return;
      case 'ProcessSubstitution':
        if (node.script === undefined) throw new Unreadable();
        return;
      case 'HereDoc':
        if (!hasCertainEnd(node)) throw new Unreadable();
        return;
      case 'TestUnary':
        if (/^-[vR]$/.test(node.operator) && !variableName.test(node.operand.text)) throw new Unreadable();
        return;
      case 'TestBinary':
        if (/^-(?:eq|ne|lt|le|gt|ge)$/.test(node.operator) && [node.left, node.right].some(({ text }) => !comparable.test(text)))
          this.#accept('((');
        return;
      case 'FileDescriptorVariable':
        return this.#accept(`${node.name}=`);
      // bash reads `!(…)` as a negated group, unless an option is set. `${x@P}` expands the text of a variable.
      case 'Function':
      case 'Coproc':
      case 'Select':
      case 'ExtendedGlob':
      case 'Transform':
      case 'Names':
      case 'Unknown':
        throw new Unreadable();
      default:
        return;
    }
  }

  /** A name that the rule must have accepted. */
  #accept(name: string): void {
    if (!this.#accepted.has(name)) throw new Unreadable();
  }

  #assignment({ name, index }: Assignment): void {
    this.#accept(`${name}=`);
    if (index !== undefined && !numeric.test(index.value)) throw new Unreadable();
  }

  /** `${!x}` reads the variable that another one names, and an index is evaluated as arithmetic. */
  #parameter({ parameter, prefix, index, operation }: ParameterExpansionPart): void {
    if (prefix === '!' || (index !== undefined && !/^(?:\d+|[@*])$/.test(index.text))) throw new Unreadable();
    if (operation?.type === 'Default' && operation.operator.endsWith('=')) this.#accept(`${parameter}=`);
  }

  #command({ name: nameWord, args, prefix, suffix, redirects }: Extract<SyntaxNode, { type: 'Command' }>): void {
    const isAfterRedirect = prefix.some(({ type }) => type !== 'Assignment');
    if (nameWord !== undefined && !isCertainName(nameWord, isAfterRedirect)) throw new Unreadable();
    const name = nameWord === undefined ? '' : readWord(nameWord);
    const assigned = [...prefix, ...suffix].filter((part) => part.type === 'Assignment');
    const words = args.map((word): LineWord => (word.type === 'Word' ? readWord(word) : { isOneWord: true, start: '' }));
    // A name that is known only when the line runs may be any launcher. The condition reads it as undecided.
    if (typeof name === 'string') {
      this.#start(name, words);
      if (Object.hasOwn(settingBuiltins, name)) this.#set(name, args);
    }
    this.#push(name, words, redirects, assigned);
  }

  /** Refuses launchers that the rule does not name. */
  #start(name: string, words: readonly LineWord[]): void {
    const launcher = launcherOf(name, words);
    if (launcher !== null) this.#accept(launcher);
    if (evaluatesSubscript(name, words)) throw new Unreadable();
  }

  /** Refuses a builtin that sets variables which the rule does not name. An assignment among its words was checked. */
  #set(builtin: string, args: readonly (Word | Assignment)[]): void {
    for (const arg of args) {
      if (arg.type === 'Assignment') continue;
      const word = readWord(arg);
      if (typeof word !== 'string') throw new Unreadable();
      if (settingBuiltins[builtin]?.test(word) === true) continue;
      const name = word.replace(/\+?=[^]*$/, '');
      if (!variableName.test(name)) throw new Unreadable();
      this.#accept(`${name}=`);
    }
  }

  #push(name: LineWord, words: readonly LineWord[], redirections: readonly Redirection[], assigned: readonly Assignment[]): void {
    if (this.commands.length >= commandsMax) throw new Unreadable();
    const { unclear } = this.#site;
    const shown = (word: LineWord): string | Undecided => (typeof word === 'string' ? word : unclear);
    const redirects = redirections.map((redirection): SimpleCommand['redirects'][number] => {
      const { operator } = redirection;
      if (redirection.type === 'HereDoc') return { operator };
      const { target } = redirection;
      if (target === undefined || (operator.endsWith('&') && !certainTarget.test(target.text))) throw new Unreadable();
      return { operator, target: shown(readWord(target)) };
    });
    const all = [name, ...words];
    this.commands.push({
      name: shown(name),
      words: all.some((word) => typeof word !== 'string' && !word.isOneWord) ? unclear : words.map(shown),
      redirects,
      assignments: assigned.map((assignment) => assignment.name),
      dynamic: all.some((word) => typeof word !== 'string') || redirects.some(({ target }) => target instanceof Undecided),
    });
  }
}

export const shellFunctions: Readonly<Record<string, CelFunction>> = {
  // Its commands are texts and lists of the input: `c.words == "push"` is undecided, and not false.
  shell: { arity: [1, 2], apply: ([line, accepted = []], env, site) => apply(line, accepted, env, site), keepsInput: true },
};

// bash expands the target of `>&` twice: in `>&'$(curl x)'` it runs curl, although the text is quoted. In `>&-a` it reads `a`
// as a word of its own.
const certainTarget = /^(?:-|\d+-?|[\w./][\w./-]*)$/;

/** The last line: the cases of a rule often read the same one. */
let last: { readonly line: string; readonly accepted: string; readonly path: string; readonly commands: unknown } | null = null;

/** A line that is remembered costs as much as another one, so that the result does not depend on it. */
const lineSteps = (line: string): number => (line.length >> 3) + ((line.length * countOpenings(line)) >> 5);

function apply(line: unknown, names: unknown, env: Environment, site: Site): unknown {
  if (typeof line !== 'string' || !isList(names) || !names.every((name) => typeof name === 'string')) return site.type;
  if (Buffer.byteLength(line) > lineBytesMax || !spend(env, lineSteps(line))) return site.budget;
  const [accepted, { path }] = [names.join('\n'), site];
  if (last?.line !== line || last.accepted !== accepted || last.path !== path)
    last = { line, accepted, path, commands: commandsOf(line, new Set(names), site) };
  return last.commands;
}
