// Asks for the tool that every sidecar denies, in the form of a host, by the way that is in the host's settings: what comes
// back shows whether a denial would block.
import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { HostName } from '@tollgate/proto/contract';
import { canaryTool, hostNamed } from '@tollgate/sidecar/hosts';
import { runHook } from '../commands/hook.ts';
import { readHookLine, withoutProgram } from './command-line.ts';
import type { World } from '../world.ts';
import type { Way } from './host.ts';
import { hostSettings } from './host-settings.ts';

export interface Proof {
  /** The host would not run the call. */
  readonly denied: boolean;
  /** The sidecar said so, and not the hook for want of one. */
  readonly decided: boolean;
  readonly words: string;
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
    const { out, err, code } = way.kind === 'command' ? await start(world, way.command, input) : await post(world, way.url, input);
    return proofOf(host, out, err, code);
  } catch (error) {
    return { denied: false, decided: false, words: error instanceof Error ? error.message : 'unknown' };
  }
}

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
  const line = way.kind === 'command' ? readHookLine(host, way.command) : null;
  if (way.kind !== 'command' || line === null || hostSettings[host].deniesByItself === true) return null;
  try {
    const ended = await start(world, withoutProgram(way.command, line.program), canaryOf(host));
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

function start(world: World, command: string, input: string): Promise<Ended> {
  return new Promise((done, fail) => {
    const child = spawn(command, { shell: true, env: { ...world.env }, timeout: timeoutMs });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
    child.on('error', fail);
    child.on('close', (code) => done({ out, err, code: code ?? 1 }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
  });
}

/** As the host does: with the key of the environment, and what is not 2xx lets the call through. */
function post(world: World, url: string, input: string): Promise<Ended> {
  return new Promise((done, fail) => {
    const headers = { authorization: `Bearer ${world.env['TOLLGATE_KEY'] ?? ''}`, 'content-type': 'application/json' };
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
