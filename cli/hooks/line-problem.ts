// Checks whether the line of a hook blocks a call correctly. This is separate from whether the line is ours: a line
// that starts tollgate may still run the call whatever tollgate answers.
import type { HostName } from '@tollgate/proto/contract';
import { type HookLine, hookLine, orExit, orSay, type Start, startIn } from './command-line.ts';
import type { Shell, ShellCommand } from './shell-line.ts';

/**
 * Returns why a line does not block a call correctly, in words. Null: the line starts tollgate and nothing else, and
 * the host receives the exit code of tollgate, or a denial instead of it.
 */
export function lineProblem(host: HostName, text: string, shell: Shell): string | null {
  const start = startIn(host, text, [shell]);
  const problem = start === null ? 'does not only start tollgate' : problemOf(host, start);
  if (problem === null) return null;
  // Text that only looks like the start of a program is not used as an example.
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

/** Copilot CLI reads only an answer, whatever the exit code. */
const saysIt = (host: HostName): boolean => host === 'copilot-cli';

function denies(host: HostName, command: ShellCommand | undefined): boolean {
  if (command?.joined !== '||' || command.redirections.length > 0) return false;
  const [name, ...more] = command.words.map(({ text }) => text);
  return (name === 'exit' && more.join(' ').replace(/^\/b /i, '') === '2') || (name === 'echo' && more.length === 1 && saysIt(host));
}

const wordsOf = ({ words }: ShellCommand): string => words.map(({ text }) => text).join(' ');

function rightLine(host: HostName, line: HookLine, shell: Shell): string {
  const bare = hookLine(host, line);
  // Their plugins deny every call that tollgate does not answer.
  if (host === 'opencode' || host === 'cline') return bare;
  return saysIt(host) ? orSay(bare, '…', shell) : orExit(bare, shell);
}
