// The line that a host runs before and after each call: `<program> hook <host> [--host-version V] [--agent NAME]`, with what
// denies the call where the program itself cannot be started, because no host denies for want of one (exit code 127, or 1).
// And the same read back, in every form that was ever installed.
import type { HostName } from '@tollgate/proto/contract';

export interface HookLine {
  /** As a shell starts it: `"/…/node" "/…/bin.js"`, or `tollgate`. */
  readonly program: string;
  readonly hostVersion: string | null;
  /** Empty: none. */
  readonly agent: string;
}

/** Which shell reads it. */
export type Shell = 'sh' | 'powershell';

export function hookLine(host: HostName, { program, hostVersion, agent }: HookLine): string {
  const version = hostVersion === null ? '' : ` --host-version ${hostVersion}`;
  return `${program} hook ${host}${version}${agent === '' ? '' : ` --agent ${quoted(agent)}`}`;
}

const quoted = (text: string): string => (/^[\w.-]+$/.test(text) ? text : `"${text}"`);

/** What no shell reads in another way between double quotes, and a header can hold. */
export const isQuotable = (text: string): boolean => /^[ -~]*$/.test(text) && !/["$`\\%!]/.test(text);

/** As its hosts understand a failure: with 2 the call is not run, with any other code it is. sh, cmd.exe, bash, zsh and fish read it. */
export const orExit = (line: string, shell: Shell = 'sh'): string =>
  shell === 'sh' ? `${line} || exit 2` : `& ${line}; if ($LASTEXITCODE -ne 0) { exit 2 }`;

/** For a host that wants an answer on standard output, whatever the code. `answer` holds no single quote. */
export const orSay = (line: string, answer: string, shell: Shell = 'sh'): string =>
  shell === 'sh' ? `${line} || echo '${answer}'` : `& ${line}; if ($LASTEXITCODE -ne 0) { '${answer}'; exit 0 }`;

const option = String.raw`(?: --(?:host-version|agent) (?:"[^"]*"|[^\s"]+))*`;
const guard = String.raw`(?:\s*\|\|.*|; if \(\$LASTEXITCODE -ne 0\) .*)?`;
const form = new RegExp(String.raw`^((?:.*[\s"'/\\&(])?(?:tollgate|bin\.js)["']?) hook ([\w-]+)(${option})${guard}$`, 's');

/** Null: it is none of ours. */
export function readHookLine(host: HostName, text: string): HookLine | null {
  const [, program, named, options = ''] = form.exec(text) ?? [];
  if (program === undefined || named !== host) return null;
  return {
    program: program.replace(/^& /, ''),
    hostVersion: optionIn(options, 'host-version'),
    agent: optionIn(options, 'agent') ?? '',
  };
}

function optionIn(options: string, name: string): string | null {
  const [, inQuotes, plain] = new RegExp(String.raw` --${name} (?:"([^"]*)"|([^\s"]+))`).exec(options) ?? [];
  return inQuotes ?? plain ?? null;
}

/** The same line with a program that is not there. */
export const withoutProgram = (text: string, program: string): string => text.replace(program, () => missingProgram);

const missingProgram = '"/nowhere/tollgate-doctor/node" "/nowhere/tollgate-doctor/bin.js"';
