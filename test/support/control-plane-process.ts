// Runs embedded-process.ts under a given account. Used by the tests of the embedded PostgreSQL.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';

const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href;
const program = fileURLToPath(new URL('embedded-process.ts', import.meta.url));

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

interface Config {
  readonly dataDir: string;
  readonly native?: string;
  readonly copyDir?: string;
  readonly account?: Account;
}

export function startProcess({ account, ...config }: Config) {
  // Its own process group, so that a test can do what Ctrl-C in a terminal does: signal all of it.
  const child = spawn(process.execPath, ['--import', tsx, program, JSON.stringify(config)], {
    ...account,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('The process was not started');
  const exited = once(child, 'exit');
  // A process that has failed ends and reads no more.
  child.stdin.on('error', () => {});
  const events: { event: string; [key: string]: unknown }[] = [];
  createInterface(child.stdout).on('line', (line) => {
    events.push(JSON.parse(line));
    child.emit('report');
  });
  /** The first event of that name; throws when the process ends, or reports a failure, before it. */
  const event = async (name: string) => {
    for (;;) {
      const found = events.find((each) => each.event === name);
      if (found) return found;
      if (events.some((each) => each.event === 'failed') || child.exitCode !== null) throw new Error(JSON.stringify(events));
      await Promise.race([once(child, 'report'), exited]);
    }
  };
  const signalGroup = async (signal: NodeJS.Signals) => {
    process.kill(-pid, signal);
    await exited;
  };
  const close = async () => {
    child.stdin.write('close\n');
    await exited;
  };
  return { pid, event, signalGroup, close };
}

/** Whether that account can run this checkout. */
export function canRun(account: Account): boolean {
  return (
    spawnSync(process.execPath, ['-e', `require('node:fs').accessSync(${JSON.stringify(program)})`], { ...account, cwd: '/' }).status === 0
  );
}
