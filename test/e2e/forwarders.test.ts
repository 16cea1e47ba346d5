// The two programs of the command line and of the control plane, each from its `bin.js`: what one passes on to the
// other, with which bytes and exit codes.
import { spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ask, startProgram } from '../support/programs.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const ownerKey = `gsk_default_${'k'.repeat(40)}`;

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-forwarders-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

interface Given {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a program in an empty home, without any settings but `env`. */
async function run(bin: string, words: readonly string[], { stdin = '', env = {} }: Given = {}): Promise<Ran> {
  const child = spawn(process.execPath, [bin, ...words], { cwd: root, env: { PATH: process.env['PATH'], HOME: folder(), ...env } });
  const code = new Promise<number | null>((done) => child.once('close', done));
  // A program that ends without reading closes the pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, out, err };
}

const preBash = JSON.stringify(JSON.parse(readFileSync(join(root, 'test/cases/hosts/claude-code/pre-bash.json'), 'utf8')).input);

test.each([
  ['a call without settings', ['hook', 'claude-code'], preBash],
  ['a call with the options of an installed line', ['hook', 'claude-code', '--host-version', '2.1.0', '--agent', 'a'], '{'],
  ['a host that does not exist', ['hook', 'no-such-host'], '{}'],
  ['hook without a host', ['hook'], ''],
  ['--version', ['--version'], ''],
  ['--help', ['--help'], ''],
  ['a command that needs a key', ['keys', 'list'], ''],
  ['a command that does not exist', ['no-such-command'], ''],
  ['no command', [], ''],
])('control-plane/bin.js passes on to the command line: %s', async (_what, words, stdin) => {
  // An error may name a path in the home.
  const given = { stdin, env: { HOME: folder() } };
  const own = await run('cli/bin.js', words, given);
  expect(await run('control-plane/bin.js', words, given)).toEqual(own);
});

test.each([
  ['cli/bin.js', 'tollgate'],
  ['control-plane/bin.js', 'tollgate-control-plane'],
])('restore --help of %s starts nothing', async (bin, name) => {
  const said = expect.stringContaining(`Usage: ${name} restore [options]`);
  expect(await run(bin, ['restore', '--help'])).toEqual({ code: 0, out: said, err: '' });
});

test('an installed hook that holds the path of control-plane/bin.js denies without settings', async () => {
  const { code, out, err } = await run('control-plane/bin.js', ['hook', 'claude-code'], { stdin: preBash });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('the call is denied') });
  expect(JSON.parse(out)).toMatchObject({ hookSpecificOutput: { permissionDecision: 'deny' } });
});

test('tollgate start says in one line which program it runs now, and starts the control plane in its own process', async () => {
  const program = await startProgram(['cli/bin.js', 'start'], {
    until: 'gRPC',
    env: {
      TOLLGATE_PORT: '0',
      TOLLGATE_GRPC_PORT: '0',
      TOLLGATE_DATA_DIR: join(folder(), 'plane'),
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_LOG_LEVEL: 'warn',
    },
  });
  onTestFinished(() => program.signal('SIGKILL'));
  const rest = program.announced.get('REST') ?? '';
  expect((await ask(`${rest}/default/admin/keys`, ownerKey)).status).toBe(200);
  expect(program.log().split('\n')[0]).toMatch(/^tollgate start is now tollgate-control-plane start/);
  expect(program.log().match(/tollgate-control-plane/g)).toHaveLength(1);
  expect(await program.end()).toBe(0);
});

test.each([
  ['start', 2],
  ['restore', 1],
  ['recover', 1],
] as const)('tollgate %s ends as tollgate-control-plane does where the configuration is refused: with %d', async (command, code) => {
  const words = command === 'recover' ? [command, 'acme'] : [command];
  const env = { TOLLGATE_PORT: 'no port' };
  const [own, passed] = [await run('control-plane/bin.js', words, { env }), await run('cli/bin.js', words, { env })];
  expect(own).toMatchObject({ code, err: expect.stringContaining('TOLLGATE_PORT') });
  const [first, ...others] = passed.err.split('\n');
  expect(first).toMatch(new RegExp(`^tollgate ${command} is now tollgate-control-plane ${command}, a program of @tollgate/control-plane`));
  expect({ ...passed, err: others.join('\n') }).toEqual(own);
});

/** Copies what a package publishes into an empty `node_modules`, and links `others` into it. Returns its `bin.js`. */
function installAlone(from: string, others: Readonly<Record<string, string>> = {}): string {
  const modules = join(folder(), 'node_modules');
  const to = join(modules, '@tollgate', from);
  for (const part of ['package.json', 'bin.js', 'dist']) cpSync(join(root, from, part), join(to, part), { recursive: true });
  for (const [name, path] of Object.entries(others)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, path), join(modules, name));
  }
  return join(to, 'bin.js');
}

/** What the command line needs: everything in its package.json. */
function dependenciesOfCli(): Readonly<Record<string, string>> {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'cli/package.json'), 'utf8'));
  return Object.fromEntries(Object.keys(dependencies).map((name) => [name, `node_modules/${name}`]));
}

test.each(['start', 'restore'])('tollgate %s without the package of the control plane names that package', async (command) => {
  expect(await run(installAlone('cli', dependenciesOfCli()), [command])).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(
      new RegExp(
        `^tollgate: ${command} is a command of the package @tollgate/control-plane, which is not installed here\n  install the package on the machine of the control plane, and run tollgate-control-plane ${command} on that machine\n$`,
      ),
    ),
  });
});

test('a hook blocks the call where control-plane/bin.js finds no command line', async () => {
  const bin = installAlone('control-plane');
  const err = 'tollgate: the package @tollgate/cli is not installed; run: npm ci\n';
  expect(await run(bin, ['hook', 'claude-code'], { stdin: preBash })).toEqual({ code: 2, out: '', err });
  expect(await run(bin, ['keys', 'list'])).toEqual({ code: 1, out: '', err });
});
