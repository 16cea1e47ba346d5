// A control plane that is started on a terminal, as a person starts it: a pseudo terminal of Python.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface OnTerminal {
  /** What it has printed so far. */
  readonly printed: () => string;
  /** Presses Ctrl-C, and waits for the end. */
  readonly end: () => Promise<unknown>;
}

/** Resolves when it has announced everything. */
export async function startOnTerminal(env: Readonly<Record<string, string>>): Promise<OnTerminal> {
  const program = `import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)`;
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_')));
  const child = spawn('python3', ['-c', program, process.execPath, 'control-plane/bin.js', 'start'], {
    cwd: root,
    env: { ...inherited, TOLLGATE_PORT: '0', TOLLGATE_GRPC_PORT: '0', ...env },
  });
  let printed = '';
  const exited = once(child, 'exit');
  await new Promise<void>((done, fail) => {
    const take = (text: Buffer): void => {
      printed += text.toString();
      if (/gRPC .*\r?\n/.test(printed)) done();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    void exited.then(() => fail(new Error(`the program ended: ${printed}`)));
  });
  return {
    printed: () => printed,
    end: async () => {
      child.stdin.write('\u0003');
      await exited;
    },
  };
}
