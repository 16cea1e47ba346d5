// `tollgate hooks`: makes the coding agents of this machine ask their sidecar before and after each call of a tool. And
// `tollgate hook`, as the rest of the command line knows it: hosts start it by a shorter way (`hook-main.ts`).
import { hosts, isHost, parseKey, type HostName } from '@tollgate/proto/contract';
import { Argument, type Command } from 'commander';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import { checkAddress, readConnection, standardSidecar } from '../hooks/connection.ts';
import type { Scope, Way } from '../hooks/host.ts';
import { hostSettings } from '../hooks/host-settings.ts';
import { type Done, installHooks, keepConnection, uninstallHooks } from '../hooks/installation.ts';
import { offSwitches } from '../hooks/off-switches.ts';
import { runHook } from './hook.ts';

interface Options {
  readonly project?: true;
  readonly http?: true;
  readonly sidecar?: string;
}

const hostArgument = (): Argument => new Argument('<host>', 'whose hooks').choices(hosts);

export function addHookCommands(program: Command, cli: Cli): void {
  program
    .command('hook')
    .description('what a coding agent starts before and after each call: standard input to the sidecar, its answer to standard output')
    .addArgument(hostArgument())
    .action(act(cli, pass));
  const group = program.command('hooks').description('make the coding agents of this machine ask their sidecar');
  group
    .command('install')
    .description("write hooks into a coding agent's settings, and keep the sidecar's address and key for them")
    .addArgument(hostArgument())
    .option('--project', 'into the settings of the folder at hand, for everybody who works in it')
    .option('--http', 'Claude Code asks over HTTP by itself: faster, but it runs calls while the sidecar is away')
    .option('--sidecar <url>', `the sidecar's address; else TOLLGATE_SIDECAR or ${standardSidecar}`)
    .action(act<Options>(cli, install));
  group
    .command('uninstall')
    .description('take out what install wrote, and nothing else')
    .addArgument(hostArgument())
    .option('--project', 'from the settings of the folder at hand')
    .action(act<Options>(cli, uninstall));
}

async function pass({ world, words }: Asked<object>): Promise<ExitCode> {
  const code = await runHook(words[0] ?? '', {
    ...world,
    out: (text) => void world.stdout.write(text),
    err: (text) => void world.stderr.write(text),
  });
  return code === 0 || code === 2 ? code : 1;
}

const named = (words: readonly string[]): HostName => {
  const [host] = words;
  if (!isHost(host)) throw new Failure(`the host must be one of ${hosts.join(', ')}`);
  return host;
};

const scopeOf = ({ project }: Options): Scope => (project === true ? 'project' : 'user');

async function install({ world, words, options, print }: Asked<Options>): Promise<void> {
  const host = named(words);
  const scope = scopeOf(options);
  const env = options.sidecar === undefined ? world.env : { ...world.env, TOLLGATE_SIDECAR: options.sidecar };
  const way = wayFor(host, options, scope, env, world.self);
  const kept = way.kind === 'http' ? null : await keep(world, env, scope);
  const done = await installHooks(world, host, scope, way);
  const off = await offSwitches(world, host);
  await print.lines({ ...done, way, connection: kept, off }, lines(done, 'has hooks', 'has them already'));
  for (const one of off) print.note(`calls would run unasked: ${one}`);
  if (kept !== null) print.note(`the sidecar's address and key are in ${kept}`);
  if (way.kind === 'http')
    print.note('Claude Code must have the key in its environment, as TOLLGATE_KEY; while the sidecar is away it runs calls');
  if (scope === 'project' && way.kind === 'command')
    print.note('whoever works in this folder needs tollgate on PATH, and TOLLGATE_KEY or tollgate hooks install of their own');
  for (const note of hostSettings[host].notes) print.note(note);
  print.note('tollgate doctor proves that a denial blocks');
}

function wayFor(host: HostName, { http }: Options, scope: Scope, env: Asked<Options>['world']['env'], self: string): Way {
  if (http !== true) return { kind: 'command', command: `${scope === 'project' ? 'tollgate' : self} hook ${host}` };
  if (host !== 'claude-code') throw new Failure(`${hostSettings[host].title} starts programs only; leave out --http`);
  const sidecar = checkAddress(env['TOLLGATE_SIDECAR'] || standardSidecar, env);
  if (typeof sidecar !== 'string') throw new Failure(sidecar.problem);
  return { kind: 'http', url: `${sidecar}/hooks/claude-code` };
}

/** Where the file is for one's own hooks only: of a project's, everybody brings theirs. */
async function keep(world: Asked<Options>['world'], env: Asked<Options>['world']['env'], scope: Scope): Promise<string | null> {
  if (scope === 'project') return null;
  const connection = readConnection({ env, home: world.home });
  if ('problem' in connection)
    throw new Failure(`${connection.problem}; the key needs the scope govern: tollgate keys create laptop --scope govern`);
  const { sidecar, key } = connection;
  if (parseKey(key) === null)
    throw new Failure(`${connection.keyFrom} is no key: that is gsk_<workspace>_ and 32 to 64 letters and digits`);
  return keepConnection(world, { sidecar, key });
}

async function uninstall({ world, words, options, print }: Asked<Options>): Promise<void> {
  const done = await uninstallHooks(world, named(words), scopeOf(options));
  await print.lines(done, lines(done, 'has no hooks of ours any more', 'has none of ours'));
}

const lines = ({ host, path, changed, backup }: Done, did: string, was: string): readonly string[] => [
  `${hostSettings[host].title} ${changed ? did : was}: ${path}`,
  ...(backup === null ? [] : [`what was there before is in ${backup}`]),
];
