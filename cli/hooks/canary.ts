// Calls the tool that every sidecar denies, in the format of a host and in the way that the host's settings define. The
// answer shows whether a denial would block a call.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { HostName } from '@tollgate/proto/contract';
import { canaryTool, hostNamed } from '@tollgate/proto/hosts';
import { runHook } from '../commands/hook.ts';
import type { World } from '../world.ts';
import { withoutProgram } from './command-line.ts';
import type { HttpWay, Way } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { findProgram } from './host-version.ts';
import type { Shell } from './shell-line.ts';

export interface Proof {
  /** Whether the host would block the call. */
  readonly denied: boolean;
  /** Whether the sidecar denied the call. False if the hook denied the call because it reached no sidecar. */
  readonly decided: boolean;
  readonly words: string;
  /** The program with which the host starts the hook is not on this machine, so the sidecar was not asked. */
  readonly unproven?: true;
}

const timeoutMs = 10_000;

const examples: Readonly<Record<HostName, Readonly<Record<string, unknown>>>> = {
  'claude-code': {
    hook_event_name: 'PreToolUse',
    tool_name: canaryTool,
    tool_input: {},
    permission_mode: 'default',
    tool_use_id: 'doctor',
  },
  codex: { hook_event_name: 'PreToolUse', tool_name: canaryTool, tool_input: {}, permission_mode: 'default', tool_use_id: 'doctor' },
  cursor: { hook_event_name: 'preToolUse', tool_name: canaryTool, tool_input: {}, conversation_id: 'tollgate-doctor' },
  'gemini-cli': { hook_event_name: 'BeforeTool', tool_name: canaryTool, tool_input: {} },
  'copilot-cli': { toolName: canaryTool, toolArgs: '{}', sessionId: 'tollgate-doctor' },
  opencode: { hook_event_name: 'tool.execute.before', tool: canaryTool, sessionID: 'tollgate-doctor', callID: 'doctor', args: {} },
  cline: { hook_event_name: 'beforeTool', toolName: canaryTool, conversationId: 'tollgate-doctor', toolCallId: 'doctor', input: {} },
};

export const canaryOf = (host: HostName): string => JSON.stringify({ session_id: 'tollgate-doctor', cwd: '/', ...examples[host] });

/** Returns a recorded input in which the tool is replaced by the canary, the test tool that every sidecar denies. */
export const asCanary = (input: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ ...input, [['toolName', 'tool'].find((name) => name in input) ?? 'tool_name']: canaryTool });

export async function prove(world: World, host: HostName, way: Way, input: string): Promise<Proof> {
  try {
    if (way.kind === 'http') return await proveByHttp(world, host, way, input);
    const ended = await runLine(world, host, way, { input });
    if (ended === null) return { denied: false, decided: false, words: noPowershell, unproven: true };
    return proofOf(host, ended.out, ended.err, ended.code);
  } catch (error) {
    return { denied: false, decided: false, words: error instanceof Error ? error.message : 'unknown' };
  }
}

/**
 * Sends the call with the headers that the host would send. If the sidecar did not deny the call, `words` also lists
 * the variables that are sent empty, such as the key.
 */
async function proveByHttp(world: World, host: HostName, way: HttpWay, input: string): Promise<Proof> {
  const { headers, missing } = headersOf(way, world.env);
  const { out, err, code } = await post(way.url, headers, input);
  const proof = proofOf(host, out, err, code);
  return proof.decided ? proof : { ...proof, words: [...missing, proof.words].join('; ') };
}

const noPowershell =
  'the host starts this hook with pwsh or powershell, and neither is on PATH; run tollgate doctor on a machine that has one';

/** Asks the sidecar with the code of `tollgate hook`, in this process. */
export async function proveHere(world: World, host: HostName, input: string): Promise<Proof> {
  let [out, err] = ['', ''];
  const stdin = (async function* () {
    yield input;
  })();
  const code = await runHook(host, { ...world, stdin, out: (text) => void (out += text), err: (text) => void (err += text) });
  return proofOf(host, out, err, code);
}

function proofOf(host: HostName, out: string, err: string, code: number): Proof {
  // After exit code 2, the call also counts as denied if standard output contains a denial.
  const denied = blocks(host, { out, err, code }) || (code === 2 && hostNamed(host)?.before.denies(out) === true);
  const decided = denied && code === 0 && out.includes(canaryTool) && out.includes('call_malformed');
  const first = (text: string): string => text.trim().split('\n')[0] ?? '';
  return {
    denied,
    decided,
    words: decided ? 'denied by the sidecar' : first(err) || first(out).slice(0, 200) || `ended with code ${code} without output`,
  };
}

/**
 * Runs the installed line with a missing program and returns the outcome. Null: it cannot be run here, for example
 * because the line starts no program.
 */
export async function proveGone(world: World, host: HostName, way: Way): Promise<GoneProof | null> {
  const line = way.kind === 'command' ? withoutProgram(host, way.command) : null;
  if (way.kind !== 'command' || line === null || hostSettings[host].deniesByItself === true) return null;
  try {
    const ended = await runLine(world, host, { ...way, command: line }, { input: canaryOf(host) });
    return ended === null ? null : { blocks: blocks(host, ended), code: ended.code };
  } catch {
    return { blocks: false, code: 1 };
  }
}

interface GoneProof {
  /** Whether the host would block the call. */
  readonly blocks: boolean;
  readonly code: number;
}

/**
 * Whether a host would block the call. There are two cases. After exit code 2, the host blocks if standard error
 * contains a reason (except Copilot CLI). After exit code 0, the host blocks if the answer is a denial.
 */
export function blocks(host: HostName, { out, err, code }: Ended): boolean {
  if (code === 0) return hostNamed(host)?.before.denies(out) === true;
  return code === 2 && host !== 'copilot-cli' && err.trim() !== '';
}

interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

interface LineRun {
  readonly input: string;
  /** The program is ended after this time. */
  readonly limitMs?: number;
}

/** Runs the line of a hook as the host does. Null: the shell of the host is not on this machine. */
export async function runLine(
  world: Pick<World, 'env'>,
  host: HostName,
  { command, shell }: Extract<Way, { kind: 'command' }>,
  { input, limitMs = timeoutMs }: LineRun,
): Promise<Ended | null> {
  const starter = await starterOf(world, host, shell);
  return starter === null ? null : start(world, starter(command), input, limitMs);
}

interface Started {
  readonly file: string;
  /** The arguments of the program `file`. Null: `file` is a line for the shell of this machine. */
  readonly words: readonly string[] | null;
}

/** Returns a function that tells how the host starts a line. Null: the host's shell is not on this machine. */
async function starterOf(world: Pick<World, 'env'>, host: HostName, shell: Shell = 'sh'): Promise<((line: string) => Started) | null> {
  if (shell !== 'powershell') return (line) => ({ file: line, words: null });
  const program = await findProgram(world, ['pwsh', 'powershell']);
  if (program === null) return null;
  // Gemini CLI appends this text too. Without it, PowerShell ends with 1 for any exit code except 0.
  const more = host === 'gemini-cli' ? '; if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }' : '';
  return (line) => ({ file: program, words: ['-NoProfile', '-NonInteractive', '-Command', line + more] });
}

function start(world: Pick<World, 'env'>, { file, words }: Started, input: string, limitMs: number): Promise<Ended> {
  return new Promise((done, fail) => {
    const child = spawn(file, words ?? [], { shell: words === null, env: { ...world.env }, timeout: limitMs });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.on('error', fail);
    child.on('close', (code) => done({ out, err, code: code ?? 1 }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** Sends the request as the host does. Only an answer with status 200 can deny the call. */
function post(url: string, headers: Readonly<Record<string, string>>, input: string): Promise<Ended> {
  return new Promise((done, fail) => {
    const send = url.startsWith('https:') ? secureRequest : request;
    const sent = send(url, { method: 'POST', headers, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      let out = '';
      response.setEncoding('utf8').on('data', (text: string) => (out += text));
      response.on('end', () => done({ out, err: '', code: response.statusCode === 200 ? 0 : 1 }));
      response.on('error', fail);
    });
    sent.on('error', fail);
    sent.end(input);
  });
}

interface Headers {
  readonly headers: Readonly<Record<string, string>>;
  /** The variables that are sent empty, each with the reason, in words. */
  readonly missing: readonly string[];
}

export function headersOf({ headers = [], allowedEnvVars = [] }: HttpWay, env: Readonly<Record<string, string | undefined>>): Headers {
  const missing: string[] = [];
  const valueOf = (header: string, name: string): string => {
    const value = env[name] ?? '';
    if (!allowedEnvVars.includes(name))
      missing.push(`$${name} of the header ${header} is sent empty; add it to "allowedEnvVars" of the hook`);
    else if (value === '') missing.push(`$${name} of the header ${header} is not set, and is sent empty`);
    return allowedEnvVars.includes(name) ? value : '';
  };
  const sent = headers
    .filter(([name]) => !ofTheBody.has(name.trim().toLowerCase()))
    .map(([name, text]) => [
      name,
      text.replace(variable, (_, inBraces?: string, bare?: string) => valueOf(name, inBraces ?? bare ?? '')).replace(/[\r\n\0]/g, ''),
    ]);
  return { headers: { 'content-type': 'application/json', ...Object.fromEntries(sent) }, missing };
}

const variable = /\$\{([A-Z_][A-Z0-9_]*)\}|\$([A-Z_][A-Z0-9_]*)/g;

/** The host computes these headers itself. */
const ofTheBody: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding']);
