// `tollgate hooks`: configures the coding agents of this machine to ask their sidecar before and after each tool call.
// Also adds the command `tollgate hook` to this command line. Hosts start that command through `hook-main.ts`, which
// loads less code.
import { hosts, isHost, nameProblem, parseKey, type HostName } from '@tollgate/proto/contract';
import { Argument, type Command } from 'commander';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import { checkAddress, connectionPath, readConnection, socketIn, standardSidecar } from '../hooks/connection.ts';
import { hookLine, isQuotable, readHookLine } from '../hooks/command-line.ts';
import { commandOf, type Scope, standardWaitMs, type Way } from '../hooks/host.ts';
import { hostSettings } from '../hooks/host-settings.ts';
import { isThere, versionOf } from '../hooks/host-version.ts';
import { type Done, dropUnusedConnection, findHooks, installHooks, uninstallHooks } from '../hooks/installation.ts';
import { platformOf } from '../hooks/paths.ts';
import { keepConnection } from '../hooks/records.ts';
import { offSwitches } from '../hooks/off-switches.ts';
import { runHook, waitMsMax } from './hook.ts';

interface Options {
  readonly project?: true;
  readonly http?: true;
  readonly sidecar?: string;
  readonly agent?: string;
  readonly wait?: string;
}

interface HookOptions {
  readonly hostVersion?: string;
  readonly agent?: string;
  readonly waitMs?: string;
}

const hostArgument = (): Argument => new Argument('<host>', 'the coding agent').choices(hosts);

export function addHookCommands(program: Command, cli: Cli): void {
  program
    .command('hook')
    .description('started by a coding agent before and after each call: sends standard input to the sidecar and prints its answer')
    .addArgument(hostArgument())
    .option('--host-version <version>', 'the version of the coding agent, as install found it')
    .option('--agent <name>', 'name of the caller, if the coding agent names no sub-agent')
    .option('--wait-ms <ms>', 'how long a call may wait for a person; the time limit of the hook must be 10 s longer')
    .action(act<HookOptions>(cli, pass));
  const group = program.command('hooks').description('connect the coding agents of this machine to their sidecar');
  group
    .command('install')
    .description('add hooks to the settings of a coding agent, and store the address and key of the sidecar for them')
    .addArgument(hostArgument())
    .option('--project', 'change the settings of the current folder, for all its users')
    .option('--http', 'Claude Code sends HTTP requests itself: faster, but it runs calls while the sidecar is unreachable')
    .option('--agent <name>', 'name of the agent in policy and audit log; default: the name in the installed hooks, or <host>')
    .option('--wait <seconds>', 'how long a call may wait for a person, 3600 at most; default: 50, for Cline 0')
    .option('--sidecar <url>', `address of the sidecar; default: TOLLGATE_SIDECAR or ${standardSidecar}`)
    .action(act<Options>(cli, install));
  group
    .command('uninstall')
    .description('remove what install added, and nothing else')
    .addArgument(hostArgument())
    .option('--project', 'change the settings of the current folder')
    .action(act<Options>(cli, uninstall));
}

async function pass({ world, words, options }: Asked<HookOptions>): Promise<ExitCode> {
  const { hostVersion = null, agent = '', waitMs: wait = null } = options;
  const code = await runHook(
    words[0] ?? '',
    {
      ...world,
      out: (text) => void world.stdout.write(text),
      err: (text) => void world.stderr.write(text),
    },
    { hostVersion, agent, wait },
  );
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
  const line = await lineFor(world, host, scope, options);
  const way = wayFor(host, options, env, line);
  const hadConnection = await isThere(connectionPath(world));
  const kept = way.kind === 'http' ? null : await keep(world, env, scope);
  const done = await installHooks(world, host, scope, way).catch(async (error: unknown) => {
    if (kept !== null && !hadConnection) await dropUnusedConnection(world, host, scope);
    throw error;
  });
  const off = await offSwitches(world, host);
  await print.lines({ ...done, way, connection: kept, off }, lines(done, 'has hooks now', 'has these hooks already'));
  for (const one of off) print.note(`calls would run without a decision: ${one}`);
  if (kept !== null) print.note(`the sidecar's address and key are in ${kept}`);
  if (way.kind === 'http')
    print.note('Claude Code needs the key in its environment as TOLLGATE_KEY; while the sidecar is unreachable, it runs calls');
  if (scope === 'project' && way.kind === 'command')
    print.note('each user of this folder needs tollgate on PATH, and TOLLGATE_KEY or their own tollgate hooks install');
  for (const note of hostSettings[host].notes) print.note(note);
  print.note('to check that a denial blocks a call, run tollgate doctor');
}

type Line = Parameters<typeof hookLine>[1];

async function lineFor(world: Asked<Options>['world'], host: HostName, scope: Scope, { agent, wait }: Options): Promise<Line> {
  const problem =
    agent === undefined ? null : (nameProblem(agent) ?? (isQuotable(agent) ? null : 'must be ASCII without the characters " $ ` \\ % !'));
  if (problem !== null) throw new Failure(`the agent's name ${problem}`);
  return {
    program: scope === 'project' ? 'tollgate' : world.self,
    // The users of a project may have different versions of the host, so no version is stored for a project.
    hostVersion: scope === 'project' ? null : await versionOf(world, hostSettings[host].programs),
    agent: agent ?? (await agentThere(world, host, scope)) ?? host,
    waitMs: waitFor(host, wait),
  };
}

/** Returns how long a call waits for a person in the hooks, in ms. */
function waitFor(host: HostName, wait: string | undefined): number {
  if (wait === undefined) return standardWaitMs(host);
  const waitMs = /^\d{1,4}$/.test(wait) ? Number(wait) * 1_000 : Number.NaN;
  if (!(waitMs <= waitMsMax)) throw new Failure(`--wait must be a whole number of seconds from 0 to ${waitMsMax / 1_000}`);
  if (host === 'cline' && waitMs > 0) throw new Failure('Cline ends a run if a hook takes 3 s, so its calls cannot wait; remove --wait');
  return waitMs;
}

/**
 * Returns the agent name in the installed hooks. It is kept because rules refer to it. Hooks from before 2026-11 have
 * no name, so the result is empty. Null: there are no hooks.
 */
async function agentThere(world: Asked<Options>['world'], host: HostName, scope: Scope): Promise<string | null> {
  const { installed } = await findHooks(world, host, scope);
  if (installed === null) return null;
  const { way } = installed;
  return (way.kind === 'http' ? way.agent : readHookLine(host, way.command)?.agent) ?? '';
}

function wayFor(host: HostName, { http }: Options, env: Asked<Options>['world']['env'], line: Line): Way {
  if (http !== true) {
    const shell = platformOf({}) === 'win32' ? 'powershell' : 'sh';
    return { kind: 'command', command: hookLine(host, line), shell, waitMs: line.waitMs };
  }
  if (host !== 'claude-code') throw new Failure(`${hostSettings[host].title} supports only hooks that start a program; remove --http`);
  const sidecar = checkAddress(env['TOLLGATE_SIDECAR'] || standardSidecar, env);
  if (typeof sidecar !== 'string') throw new Failure(sidecar.problem);
  if (socketIn(sidecar) !== null) throw new Failure('Claude Code sends its requests to a port, and not to a socket; remove --http');
  return { kind: 'http', url: `${sidecar}/hooks/claude-code`, agent: line.agent, hostVersion: line.hostVersion, waitMs: line.waitMs };
}

/**
 * Writes the connection file for the user's own hooks and returns its path. Returns null for a project's hooks, because
 * every user of a project has their own connection.
 */
async function keep(world: Asked<Options>['world'], env: Asked<Options>['world']['env'], scope: Scope): Promise<string | null> {
  if (scope === 'project') return null;
  const connection = readConnection({ env, home: world.home });
  if ('problem' in connection)
    throw new Failure(`${connection.problem}; create a key with the scope "govern": tollgate keys create laptop --scope govern`);
  const { sidecar, key } = connection;
  if (parseKey(key) === null)
    throw new Failure(`${connection.keyFrom} is not a key; a key is gsk_<workspace>_ followed by 32 to 64 letters and digits`);
  return keepConnection(world, { sidecar, key });
}

async function uninstall({ world, words, options, print }: Asked<Options>): Promise<void> {
  const [host, scope] = [named(words), scopeOf(options)];
  const done = await uninstallHooks(world, host, scope);
  const { installed } = await findHooks(world, host, scope);
  if (installed === null) return print.lines(done, lines(done, 'has no hooks of tollgate any more', 'has no hooks of tollgate'));
  await print.lines(done, lines(done, 'has one more line that starts tollgate', 'has a line that starts tollgate'));
  print.note(
    `this line also starts another program, so it is not removed: ${JSON.stringify(commandOf(installed.way))}; remove tollgate from it by hand`,
  );
}

const lines = ({ host, path, changed }: Done, did: string, was: string): readonly string[] => [
  `${hostSettings[host].title} ${changed ? did : was}: ${path}`,
];
