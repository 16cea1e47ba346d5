// Hooks that an earlier version installed, after the tree at their path was upgraded to this one. The line in the
// settings of the coding agent stays as it is; a coding agent runs the call where the program of the line is gone.
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Closing } from '../bench/side/stage.ts';
import { binOf, type Tree, thisTree } from '../bench/side/tree.ts';
import { hostNamed } from '../../proto/hosts/index.ts';
import { eventually } from '../support/programs.ts';
import { openStage, startSidecar } from '../trust/stage.ts';

type Check = (what: string, holds: () => Promise<void>) => Promise<void>;

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

const { input } = JSON.parse(readFileSync(new URL('../cases/hosts/claude-code/pre-bash.json', import.meta.url), 'utf8'));
const claudeCode = hostNamed('claude-code');

/** Resolves when the command has ended. `stdin` is its standard input. */
async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv, stdin: string): Promise<Ran> {
  const child = spawn(command, [...args], { env });
  const code = new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done));
  // A command that ends without reading closes the pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin);
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, out, err };
}

function decisionOf({ code, out }: Ran): 'allow' | 'deny' | 'neither' {
  if (claudeCode?.before.denies(out) === true) return 'deny';
  return code === 0 ? 'allow' : 'neither';
}

const same = (ran: Ran, decision: 'allow' | 'deny'): void => {
  if (decisionOf(ran) !== decision) throw new Error(`should be ${decision}, is ${JSON.stringify(ran)}`);
};

/** The line that the settings of Claude Code start before a call. */
function lineIn(home: string): string {
  const { hooks } = JSON.parse(readFileSync(join(home, '.claude/settings.json'), 'utf8'));
  return String(hooks.PreToolUse[0].hooks[0].command);
}

export async function checkInstalledHooks(check: Check, before: Tree, folder: string, closing: Closing): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const stage = await openStage(thisTree, join(folder, 'stage'), closing);
  const workspace = await stage.makeWorkspace('acme');
  const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
  const sidecar = await startSidecar(thisTree, { key, spoolDir: stage.newFolder('spool'), controlPlane: stage.address() }, closing);
  const write = async (permission: 'allow' | 'deny'): Promise<void> =>
    void (await stage.ask(workspace, 'workspacePolicy', { method: 'PUT', body: { tools: { Bash: { interactive: { permission } } } } }));

  const home = join(folder, 'home');
  mkdirSync(home);
  // The path of the tree stays, and its content becomes that of the other version.
  const installed = join(folder, 'tollgate');
  symlinkSync(before.root, installed);
  const env = { PATH: process.env['PATH'], HOME: home };
  const bin = binOf(before, 'tollgate');
  if (bin === null) throw new Error(`${before.name} has no program tollgate`);
  const url = new URL(sidecar.announced.get('hooks') ?? '').origin;
  const own = { ...env, TOLLGATE_SIDECAR: url, TOLLGATE_KEY: key };
  const ended = await run(process.execPath, [join(installed, bin), 'hooks', 'install', 'claude-code'], own, '');
  if (ended.code !== 0) throw new Error(`hooks install ended with ${JSON.stringify(ended)}`);
  const line = lineIn(home);
  if (!line.includes(installed)) throw new Error(`the line does not hold the path of the tree: ${line}`);
  rmSync(installed);
  symlinkSync(thisTree.root, installed);

  const hook = (): Promise<Ran> => run('sh', ['-c', line], env, JSON.stringify(input));
  const way = `hooks of ${before.name}, program of ${thisTree.name}`;
  await check(`${way}: the sidecar decides, allow and deny`, async () => {
    for (const decision of ['allow', 'deny'] as const) {
      await write(decision);
      same(await eventually(hook, (ran) => decisionOf(ran) === decision), decision);
    }
  });
  await check(`${way}: without a sidecar a call is denied, although policy allows it`, async () => {
    await write('allow');
    await eventually(hook, (ran) => decisionOf(ran) === 'allow');
    await sidecar.end();
    same(await hook(), 'deny');
  });
}
