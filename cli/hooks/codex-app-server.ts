// Asks Codex itself about its hooks with `codex app-server` (JSON lines on standard input and output). Only Codex knows
// for certain whether it runs a hook. If it does not answer, its settings are read instead.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isRow, type Row } from '../api/answer.ts';
import type { Trust } from './codex-trust.ts';

interface Asking {
  readonly program: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder in which Codex would run; it determines the hooks. */
  readonly cwd: string;
  readonly timeoutMs?: number;
}

/** The map has the keys that Codex gives the hooks; null: Codex did not answer. */
export function askCodex({ program, env, cwd, timeoutMs = 5_000 }: Asking): Promise<ReadonlyMap<string, Trust> | null> {
  return new Promise((done) => {
    const child = spawn(program, ['app-server'], {
      env: { ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    const send = (message: Row): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
    child.on('error', () => done(null));
    child.on('close', () => done(null));
    child.stdin.on('error', () => undefined);
    createInterface({ input: child.stdout }).on('line', (line) => {
      const { id, result } = messageIn(line);
      if (id === 1) {
        send({ method: 'initialized' });
        send({ id: 2, method: 'hooks/list', params: { cwds: [cwd] } });
      }
      if (id !== 2) return;
      done(trustsIn(result));
      child.kill('SIGKILL');
    });
    send({ id: 1, method: 'initialize', params: { clientInfo: { name: 'tollgate-doctor', version: '1' } } });
  });
}

function messageIn(line: string): Row {
  try {
    const message: unknown = JSON.parse(line);
    return isRow(message) ? message : {};
  } catch {
    return {};
  }
}

function trustsIn(result: unknown): ReadonlyMap<string, Trust> | null {
  const data = isRow(result) ? result['data'] : undefined;
  if (!Array.isArray(data)) return null;
  const hooks = data.filter(isRow).flatMap(({ hooks: listed }) => (Array.isArray(listed) ? listed.filter(isRow) : []));
  return new Map(hooks.flatMap((hook) => (typeof hook['key'] === 'string' ? [[hook['key'], trustIn(hook)] as const] : [])));
}

function trustIn({ enabled, trustStatus }: Row): Trust {
  if (enabled !== true) return 'disabled';
  if (trustStatus === 'trusted' || trustStatus === 'managed') return 'trusted';
  return trustStatus === 'untrusted' ? 'untrusted' : 'changed';
}
