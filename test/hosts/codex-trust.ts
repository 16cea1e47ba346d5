// Trusts the hooks of a Codex as its user does by /hooks: it asks `codex app-server` for the hooks, and makes it record
// that they are trusted.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { StartedAgent } from './driver.ts';

interface Answer {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

interface HookSeen {
  readonly key: string;
  readonly currentHash: string;
  readonly trustStatus: string;
}

const limitMs = 20_000;

type Ask = (method: string, params: object) => Promise<unknown>;

/** Trusts all hooks that Codex finds. */
export const trustHooks = (agent: StartedAgent): Promise<void> =>
  withServer(agent, async (ask) => {
    const hooks = hooksIn(await ask('hooks/list', { cwds: [agent.folder] }));
    if (hooks.length === 0) throw new Error('Codex sees no hooks');
    const value = Object.fromEntries(hooks.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }]));
    await ask('config/batchWrite', { edits: [{ keyPath: 'hooks.state', value, mergeStrategy: 'upsert' }] });
    const seen = hooksIn(await ask('hooks/list', { cwds: [agent.folder] }));
    if (!areTrusted(seen)) throw new Error(`Codex does not trust its hooks: ${JSON.stringify(seen)}`);
  });

/** Whether Codex finds this many hooks, and trusts each. */
export const trustsHooks = (agent: StartedAgent, count: number): Promise<boolean> =>
  withServer(agent, async (ask) => {
    const seen = hooksIn(await ask('hooks/list', { cwds: [agent.folder] }));
    return seen.length === count && areTrusted(seen);
  });

const areTrusted = (seen: readonly HookSeen[]): boolean => seen.every(({ trustStatus }) => trustStatus === 'trusted');

async function withServer<T>({ program: [program = '', ...words], env, folder }: StartedAgent, use: (ask: Ask) => Promise<T>): Promise<T> {
  const child = spawn(program, [...words, 'app-server'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'ignore'], timeout: limitMs });
  const exit = once(child, 'exit');
  const waiting = new Map<number, (answer: Answer) => void>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const answer: Answer = JSON.parse(text);
    if (answer.id !== undefined) waiting.get(answer.id)?.(answer);
  });
  const say = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  let id = 0;
  const ask: Ask = async (method, params) => {
    id += 1;
    const answered = new Promise<Answer>((done) => waiting.set(id, done));
    say({ id, method, params });
    const { result, error } = await Promise.race([answered, exit.then(() => ({ result: undefined, error: 'it ended' }))]);
    if (result === undefined) throw new Error(`codex app-server did not answer ${method}: ${JSON.stringify(error)}`);
    return result;
  };
  try {
    await ask('initialize', { clientInfo: { name: 'tollgate-test', version: '1' } });
    say({ method: 'initialized' });
    return await use(ask);
  } finally {
    child.kill();
    await exit;
  }
}

function hooksIn(result: unknown): readonly HookSeen[] {
  const { data }: { data: readonly { readonly hooks: readonly HookSeen[] }[] } = JSON.parse(JSON.stringify(result));
  return data.flatMap(({ hooks }) => hooks);
}
