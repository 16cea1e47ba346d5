// Asks for the tool that every sidecar denies, in the form of a host, by the way that is in the host's settings: what comes
// back shows whether a denial would block.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { HostName } from '@tollgate/proto/contract';
import { canaryTool, hostNamed } from '@tollgate/sidecar/hosts';
import { runHook } from '../commands/hook.ts';
import type { World } from '../world.ts';
import { withoutProgram } from './command-line.ts';
import type { HttpWay, Way } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { findProgram } from './host-version.ts';
import { headersOf } from './http-headers.ts';
import type { Shell } from './shell-line.ts';

export interface Proof {
  /** The host would not run the call. */
  readonly denied: boolean;
  /** The sidecar said so, and not the hook for want of one. */
  readonly decided: boolean;
  readonly words: string;
  /** What the host would start it by is not here, so nothing was asked. */
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

/** A recorded input with the canary for its tool. */
export const asCanary = (input: Readonly<Record<string, unknown>>): string =>
  JSON.stringify({ ...input, [['toolName', 'tool'].find((name) => name in input) ?? 'tool_name']: canaryTool });

export async function prove(world: World, host: HostName, way: Way, input: string): Promise<Proof> {
  try {
    if (way.kind === 'http') return await proveByHttp(world, host, way, input);
    const starter = await starterOf(world, host, way.shell);
    if (starter === null) return { denied: false, decided: false, words: noPowershell, unproven: true };
    const { out, err, code } = await start(world, starter(way.command), input);
    return proofOf(host, out, err, code);
  } catch (error) {
    return { denied: false, decided: false, words: error instanceof Error ? error.message : 'unknown' };
  }
}

/** A variable that the host leaves empty is why its key is refused, or its agent is not named. */
async function proveByHttp(world: World, host: HostName, way: HttpWay, input: string): Promise<Proof> {
  const { headers, missing } = headersOf(way, world.env);
  const { out, err, code } = await post(way.url, headers, input);
  const proof = proofOf(host, out, err, code);
  return proof.decided ? proof : { ...proof, words: [...missing, proof.words].join('; ') };
}

const noPowershell = 'neither pwsh nor powershell is on PATH, by which the host starts this hook; run tollgate doctor where one is';

/** By `tollgate hook` itself, without a process. */
export async function proveHere(world: World, host: HostName, input: string): Promise<Proof> {
  let [out, err] = ['', ''];
  const stdin = (async function* () {
    yield input;
  })();
  const code = await runHook(host, { ...world, stdin, out: (text) => void (out += text), err: (text) => void (err += text) });
  return proofOf(host, out, err, code);
}

function proofOf(host: HostName, out: string, err: string, code: number): Proof {
  // Of a program that ends with 2 a host heeds the code, whatever is printed.
  const denied = blocks(host, { out, err, code }) || (code === 2 && hostNamed(host)?.before.denies(out) === true);
  const decided = denied && code === 0 && out.includes(canaryTool) && out.includes('call_malformed');
  const first = (text: string): string => text.trim().split('\n')[0] ?? '';
  return {
    denied,
    decided,
    words: decided ? 'denied by the sidecar' : first(err) || first(out).slice(0, 200) || `ended with ${code} and said nothing`,
  };
}

/** What the installed line comes to where the program in it is gone; null: it starts none. */
export async function proveGone(world: World, host: HostName, way: Way): Promise<GoneProof | null> {
  const line = way.kind === 'command' ? withoutProgram(host, way.command) : null;
  if (way.kind !== 'command' || line === null || hostSettings[host].deniesByItself === true) return null;
  try {
    const starter = await starterOf(world, host, way.shell);
    if (starter === null) return null;
    const ended = await start(world, starter(line), canaryOf(host));
    return { blocks: blocks(host, ended), code: ended.code };
  } catch {
    return { blocks: false, code: 1 };
  }
}

interface GoneProof {
  /** The host would not run the call. */
  readonly blocks: boolean;
  readonly code: number;
}

/** As hosts judge: 2 with a reason, or an answer that denies, of a hook that ended well. Any other end is none of a denial. */
function blocks(host: HostName, { out, err, code }: Ended): boolean {
  if (code === 0) return hostNamed(host)?.before.denies(out) === true;
  return code === 2 && host !== 'copilot-cli' && err.trim() !== '';
}

interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

interface Started {
  readonly file: string;
  /** Null: `file` is a line for the shell of this machine. */
  readonly words: readonly string[] | null;
}

/** How the host starts a line; null: the shell for it is not here. */
async function starterOf(world: World, host: HostName, shell: Shell = 'sh'): Promise<((line: string) => Started) | null> {
  if (shell !== 'powershell') return (line) => ({ file: line, words: null });
  const program = await findProgram(world, ['pwsh', 'powershell']);
  if (program === null) return null;
  // As Gemini CLI does: by itself PowerShell ends with 1 for any code but 0.
  const more = host === 'gemini-cli' ? '; if ($LASTEXITCODE -ne 0) { exit $LASTEXITCODE }' : '';
  return (line) => ({ file: program, words: ['-NoProfile', '-NonInteractive', '-Command', line + more] });
}

function start(world: World, { file, words }: Started, input: string): Promise<Ended> {
  return new Promise((done, fail) => {
    const child = spawn(file, words ?? [], { shell: words === null, env: { ...world.env }, timeout: timeoutMs });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.on('error', fail);
    child.on('close', (code) => done({ out, err, code: code ?? 1 }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** As the host does: what is not 2xx lets the call through. */
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
