// A guarded call of the Python client over a Unix domain socket, in threads and in an event loop, compared with the bare
// tool and with what httpx needs to send as many requests to a bare server. For orientation: the design states no target.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../support/programs.ts';
import { orient, type Row } from './measure.ts';
import { Missing } from './side/missing.ts';
import { startControlPlane, startSidecar, withClosing } from './side/stage.ts';
import { thisTree } from './side/tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const rounds = 5;

interface Timed {
  readonly name: string;
  /** µs a call. */
  readonly guarded: number;
  readonly echo: number;
  readonly bare: number;
  readonly ratios: { readonly echo: number; readonly bare: number };
}

/** Installs the client of this checkout in a virtual environment next to the other programs of the bench. */
function installClient(): string {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-bench', 'python');
  const python = join(folder, 'bin', 'python');
  if (!existsSync(python) && spawnSync('python3', ['-m', 'venv', folder]).status !== 0)
    throw new Missing('python3 with venv is not installed: install Python 3.10 or later');
  const { status, stderr } = spawnSync(python, [
    '-m',
    'pip',
    'install',
    '-q',
    '--disable-pip-version-check',
    'httpx==0.28.1',
    join(root, 'clients/python'),
  ]);
  if (status !== 0) throw new Missing(`the Python client was not installed: ${String(stderr).slice(-500)}`);
  return python;
}

export const benchPython = (): Promise<readonly Row[]> =>
  withClosing(async (closing, folder) => {
    const python = installClient();
    const plane = await startControlPlane(thisTree, folder, closing);
    const socket = join(folder, 'sidecar.sock');
    const sidecar = await startSidecar({ tree: thisTree, plane, folder, env: { TOLLGATE_SOCKET: socket } }, closing);
    const echoed = join(folder, 'echo.sock');
    const echo = await startProgram([fileURLToPath(new URL('python/echo.js', import.meta.url)), echoed], { env: {}, until: 'echo' });
    closing.add(() => echo.end());
    const program = fileURLToPath(new URL('python/calls.py', import.meta.url));
    const text = execFileSync(python, [program, socket, echoed, String(rounds)], {
      env: { PATH: process.env['PATH'], TOLLGATE_KEY: sidecar.key },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return text
      .trim()
      .split('\n')
      .flatMap((line) => rowsOf(JSON.parse(line) as Timed));
  });

const rowsOf = ({ name, guarded, echo, bare, ratios }: Timed): readonly Row[] => [
  orient({
    name: `Python guarded call, ${name}`,
    value: guarded,
    unit: 'µs',
    baseline: `two requests of httpx to a bare server: ${echo.toPrecision(3)} µs`,
    ratio: ratios.echo,
  }),
  orient({
    name: `Python guarded call, ${name}, against the tool`,
    value: guarded,
    unit: 'µs',
    baseline: `the bare tool: ${bare.toPrecision(3)} µs`,
    ratio: ratios.bare,
  }),
];
