// Builds and reads the line that a host runs before and after each call: `<program> hook <host> [--host-version V]
// [--agent NAME] [--wait-ms MS]`. If the program cannot be started, the line ends with exit code 127 or 1, and no host denies a call
// after these codes. Therefore a part of the line denies the call in this case. This file reads such a line in every
// form that any version installed, also after changes by a user. It also tells whether a line blocks a call correctly:
// with some lines that start tollgate, the host runs the call whatever tollgate answers.
import type { HostName } from '@tollgate/proto/contract';
import { readWait } from '../commands/hook.ts';
import { parseShellLine, type Shell, type ShellCommand, type ShellLine } from './shell-line.ts';

export interface HookLine {
  /** The program as it is written for a shell: `"/…/node" "/…/bin.js"`, or `tollgate`. */
  readonly program: string;
  readonly hostVersion: string | null;
  /** Empty: no name. */
  readonly agent: string;
  /** How long a call waits for a person. Null: the line does not say it. */
  readonly waitMs: number | null;
}

export function hookLine(host: HostName, { program, hostVersion, agent, waitMs }: HookLine): string {
  const version = hostVersion === null ? '' : ` --host-version ${hostVersion}`;
  const wait = waitMs === null ? '' : ` --wait-ms ${waitMs}`;
  return `${program} hook ${host}${version}${agent === '' ? '' : ` --agent ${quoted(agent)}`}${wait}`;
}

const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `"${text}"`);

/** Whether the text is safe between double quotes in every shell and in a header. */
export const isQuotable = (text: string): boolean => /^[ -~]*$/.test(text) && !/["$`\\%!]/.test(text);

/**
 * Returns the line with a part that exits with 2 after a failure. It is for hosts that read the exit code. After exit
 * code 2, they do not run the call. After another error code, they run it. sh, cmd.exe, bash, zsh and fish accept the
 * line.
 */
export const orExit = (line: string, shell: Shell = 'sh'): string =>
  shell === 'powershell' ? `& ${line}; if ($LASTEXITCODE -ne 0) { exit 2 }` : `${line} || exit 2`;

/**
 * Returns the line with a part that prints `answer` after a failure. It is for hosts that need an answer on standard
 * output, whatever the exit code is. `answer` contains no single quote.
 */
export const orSay = (line: string, answer: string, shell: Shell = 'sh'): string =>
  shell === 'powershell' ? `& ${line}; if ($LASTEXITCODE -ne 0) { '${answer}'; exit 0 }` : `${line} || echo '${answer}'`;

const powershellGuard = /\s*;\s*if \(\$LASTEXITCODE -ne 0\) \{ (?:exit (?:2|\$LASTEXITCODE)|('[^']*'); exit 0) \}\s*$/;

const option = String.raw`(?: --(?:host-version|agent|wait-ms) (?:"[^"]*"|[^\s"]+))*`;
const guard = String.raw`(?:\s*\|\|.*|; if \(\$LASTEXITCODE -ne 0\) .*)?`;
const form = new RegExp(String.raw`^((?:.*[\s"'/\\&(])?(?:tollgate|bin\.js)["']?) hook ([\w-]+)(${option})${guard}$`, 's');

/** Returns the parts of a line that starts tollgate. Null: the line does not start tollgate. */
export function readHookLine(host: HostName, text: string): HookLine | null {
  return startIn(host, text)?.line ?? readForm(host, text);
}

/**
 * Whether `tollgate hooks uninstall` removes the line. It does not remove a line that also starts a program of the
 * user, before or after tollgate.
 */
export function isOurLine(host: HostName, text: string): boolean {
  const start = startIn(host, text);
  if (start === null) return readForm(host, text) !== null;
  return [...start.before, ...start.behind].every(({ words }) => isShellsOwn(words[0]?.text ?? ':'));
}

/**
 * Whether the command is a simple command of the shell. If a line contains only such commands besides tollgate,
 * `tollgate hooks uninstall` removes the whole line.
 */
const isShellsOwn = (name: string): boolean => ['true', ':', 'false', 'exit', 'echo', 'printf', 'cat', 'tee', 'cd'].includes(name);

/**
 * Reads a line in the form that `tollgate hooks install` writes, with a regular expression only. So it also works if a
 * quote is not closed. But it also accepts a text that only looks like the start of the program.
 */
function readForm(host: HostName, text: string): HookLine | null {
  const [, program, named, options = ''] = form.exec(text) ?? [];
  if (program === undefined || named !== host) return null;
  return {
    program: program.replace(/^& /, ''),
    hostVersion: optionIn(options, 'host-version'),
    agent: optionIn(options, 'agent') ?? '',
    waitMs: waitIn(optionIn(options, 'wait-ms')),
  };
}

function optionIn(options: string, name: string): string | null {
  const [, inQuotes, plain] = new RegExp(String.raw` --${name} (?:"([^"]*)"|([^\s"]+))`).exec(options) ?? [];
  return inQuotes ?? plain ?? null;
}

interface Start {
  readonly line: HookLine;
  /** The offset of the program in the text. */
  readonly at: number;
  /** The words after `hook <host>` that are not known options. */
  readonly unknown: readonly string[];
  readonly command: ShellCommand;
  readonly before: readonly ShellCommand[];
  readonly behind: readonly ShellCommand[];
  readonly end: ShellLine['end'];
  /**
   * What the line does in PowerShell after a failure: `exit` ends with an error code, `say` prints an answer; null:
   * nothing.
   */
  readonly guard: 'exit' | 'say' | null;
}

/** Finds the first command of the line that starts tollgate. Null: there is none, or the line is not plain. */
function startIn(host: HostName, text: string, shells: readonly Shell[] = ['sh', 'cmd', 'powershell']): Start | null {
  for (const shell of shells) {
    const guarded = shell === 'powershell' ? powershellGuard.exec(text) : null;
    const line = guarded === null ? text : text.slice(0, guarded.index);
    const parsed = parseShellLine(line, shell);
    if (parsed === null) continue;
    const { commands, end } = parsed;
    for (const [at, command] of commands.entries()) {
      const found = programIn(host, command, { line, shell });
      if (found === null) continue;
      const guard = guarded === null ? null : guarded[1] === undefined ? 'exit' : 'say';
      return { ...found, command, before: commands.slice(0, at), behind: commands.slice(at + 1), end, guard };
    }
  }
  return null;
}

const fileName = (path: string): string => /[^/\\]*$/.exec(path)?.[0] ?? '';

const tollgate = /^tollgate(?:\.cmd|\.exe|\.bat|\.ps1)?$/i;
const node = /^node(?:\.exe)?$/i;
const npx = /^npx(?:\.cmd|\.exe)?$/i;
const ofPackage = /^@tollgate\/(?:cli|control-plane)(?:@[\w.-]+)?$/;

/**
 * Returns the program if a command starts tollgate by name, with Node or with npx; otherwise null. Only variable
 * assignments and prefixes such as `env` may precede it.
 */
function programIn(
  host: HostName,
  { words }: ShellCommand,
  { line, shell }: { readonly line: string; readonly shell: Shell },
): Pick<Start, 'line' | 'at' | 'unknown'> | null {
  let first = 0;
  while (shell === 'sh' && /^(?:exec|command|(?:(?:\/usr)?\/bin\/)?env|[A-Za-z_]\w*=.*)$/s.test(words[first]?.text ?? '')) first++;
  const starter = fileName(words[first]?.text ?? '');
  const [byNode, byNpx] = [node.test(starter), npx.test(starter)];
  let at = byNode || byNpx ? first + 1 : first;
  while (at > first && words[at]?.text.startsWith('-') === true) at += byNpx && /^(?:-p|--package)$/.test(words[at]?.text ?? '') ? 2 : 1;
  const [program, verb, named, ...more] = words.slice(at);
  if (program === undefined || verb?.text !== 'hook' || named?.text !== host) return null;
  const name = fileName(program.text);
  // Node can also start `node_modules/.bin/tollgate`, the file that npx starts in a checkout.
  if (byNode ? name !== 'bin.js' && name !== 'tollgate' : !tollgate.test(name) && !(byNpx && ofPackage.test(program.text))) return null;
  const { agent = '', hostVersion = null, waitMs = null, unknown } = optionsIn(more.map(({ text }) => text));
  const from = words[first]?.from ?? 0;
  return { line: { program: line.slice(from, program.to), agent, hostVersion, waitMs }, at: from, unknown };
}

interface Options {
  readonly agent?: string;
  readonly hostVersion?: string;
  readonly waitMs?: number;
  readonly unknown: readonly string[];
}

function optionsIn(words: readonly string[]): Options {
  const [word, next, ...rest] = words;
  if (word === undefined) return { unknown: [] };
  const [, name, value] = /^--(agent|host-version|wait-ms)(?:=(.*))?$/s.exec(word) ?? [];
  const given = value ?? next;
  if (name === undefined || given === undefined) return { unknown: words };
  const others = optionsIn(value === undefined ? rest : words.slice(1));
  if (name === 'agent') return { agent: given, ...others };
  if (name === 'host-version') return { hostVersion: given, ...others };
  const waitMs = waitIn(given);
  return waitMs === null ? { unknown: words } : { waitMs, ...others };
}

/** Returns the wait in a text, in ms; null: it is none. `tollgate hook` has the same form and maximum. */
const waitIn = (text: string | null): number | null => readWait(text ?? '');

/**
 * Returns the same line with a program that does not exist. Null: the line starts no program. The program is replaced
 * at its offset, because the same path may occur earlier in the line, in a variable.
 */
export function withoutProgram(host: HostName, text: string): string | null {
  const { line, at } = startIn(host, text) ?? {};
  const program = (line ?? readForm(host, text))?.program;
  if (program === undefined) return null;
  const from = at ?? text.indexOf(program);
  return text.slice(0, from) + missingProgram + text.slice(from + program.length);
}

const missingProgram = '"/nowhere/tollgate-doctor/node" "/nowhere/tollgate-doctor/bin.js"';

/**
 * Returns, in words, why a line does not block a call correctly. Null: the line starts tollgate and nothing else, and
 * the host receives the exit code of tollgate, or a denial if tollgate fails.
 */
export function lineProblem(host: HostName, text: string, shell: Shell): string | null {
  const start = startIn(host, text, [shell]);
  const problem = start === null ? 'does not only start tollgate' : problemOf(host, start);
  if (problem === null) return null;
  // The message contains a correct line only if the line starts tollgate for certain.
  const line = (start ?? startIn(host, text))?.line ?? null;
  const right = line === null ? '' : `, such as ${JSON.stringify(rightLine(host, line, shell))}`;
  return `the line ${JSON.stringify(text)} ${problem}; correct is what tollgate hooks install ${host} writes${right}`;
}

function problemOf(host: HostName, { command, before, behind, end, unknown, guard }: Start): string | null {
  if (before.length > 0) return `runs ${JSON.stringify(before.map(wordsOf).join('; '))} before tollgate`;
  if (unknown.length > 0) return `gives tollgate ${JSON.stringify(unknown.join(' '))}, which are not known arguments`;
  const moved = command.redirections.find((one) => one !== '2>' && one !== '2>>');
  if (moved !== undefined) return `redirects the input or output of tollgate (${moved})`;
  if (end === '&') return 'does not wait for tollgate (&)';
  const isGuarded =
    behind.length === 0 ? guard !== 'say' || saysIt(host) : behind.length === 1 && guard === null && denies(host, behind[0]);
  if (isGuarded) return null;
  const more = behind.map((one) => `${one.joined} ${wordsOf(one)}`).join(' ');
  return `does not end with the exit code of tollgate: ${JSON.stringify(more)}`;
}

/** Whether the host reads only the answer and ignores the exit code. Only Copilot CLI does this. */
const saysIt = (host: HostName): boolean => host === 'copilot-cli';

function denies(host: HostName, command: ShellCommand | undefined): boolean {
  if (command?.joined !== '||' || command.redirections.length > 0) return false;
  const [name, ...more] = command.words.map(({ text }) => text);
  return (name === 'exit' && more.join(' ').replace(/^\/b /i, '') === '2') || (name === 'echo' && more.length === 1 && saysIt(host));
}

const wordsOf = ({ words }: ShellCommand): string => words.map(({ text }) => text).join(' ');

function rightLine(host: HostName, line: HookLine, shell: Shell): string {
  const bare = hookLine(host, line);
  // The plugins of OpenCode and Cline deny every call that tollgate does not answer.
  if (host === 'opencode' || host === 'cline') return bare;
  return saysIt(host) ? orSay(bare, '…', shell) : orExit(bare, shell);
}
