// The help of every command of `tollgate` and of `tollgate-control-plane`, at a fixed width; and the help of
// `tollgate-sidecar`.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { treeOf } from '../../../cli/completion.ts';
import { createProgram, runCli } from '../../../cli/program.ts';
import type { World } from '../../../cli/world.ts';
import { runCommand } from '../../../control-plane/app/commands.ts';

const columns = 120;

export async function cliText(): Promise<string> {
  const paths = treeOf(createProgram({ world: worldInto(() => undefined), exitCode: 0 })).map(({ path }) => path);
  const ofTollgate = paths.toSorted().map((path) => helpOf('tollgate', runCli, path === '' ? [] : path.split(' ')));
  const ofControlPlane = ['recover', 'restore', 'start'].map((command) => helpOf('tollgate-control-plane', runCommand, [command]));
  return (await Promise.all([...ofTollgate, ...ofControlPlane, sidecarHelp()])).join('\n');
}

/** Wraps long lines at `columns`, as on the terminal. */
async function helpOf(program: string, run: typeof runCli, words: readonly string[]): Promise<string> {
  const said: string[] = [];
  const code = await run(
    [...words, '--help'],
    worldInto((chunk) => void said.push(chunk)),
  );
  return section([program, ...words, '--help'], code, said.join(''));
}

const section = (words: readonly string[], code: number | null, said: string): string =>
  `$ ${words.join(' ')}\n${said.trimEnd()}\n${code === 0 ? '' : `exit code ${code}\n`}`;

function worldInto(write: (chunk: string) => void): World {
  const sink = Object.assign(
    new Writable({
      decodeStrings: false,
      write: (chunk: string, _encoding, done) => {
        write(chunk);
        done();
      },
    }),
    { isTTY: true, columns },
  );
  return {
    env: {},
    version: '0.0.0',
    home: '/home/ann',
    cwd: '/home/ann',
    self: 'tollgate',
    stdin: Readable.from([]),
    stdout: sink,
    stderr: sink,
    prompts: null,
    now: () => new Date(0),
    random: () => 0,
    wait: async () => undefined,
    interruption: () => new AbortController().signal,
  };
}

/** The module runs when it is loaded, so a process of its own runs it. */
async function sidecarHelp(): Promise<string> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const started = ['--import', 'tsx', '--conditions=tollgate-source', 'sidecar/app/main.ts', '--help'];
  const child = spawn(process.execPath, started, { cwd: root, env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return section(['tollgate-sidecar', '--help'], code, `${out}${err}`);
}
