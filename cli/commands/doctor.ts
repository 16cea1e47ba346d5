// `tollgate doctor`: finds the coding agents on this machine, and checks which of them ask a sidecar and whether a
// denial blocks their calls. Exit code 0: everything is correct, or there is nothing to check. 1: the installed hooks
// do not protect. 2: an agent has no hooks.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type HostName, hosts } from '@tollgate/proto/contract';
import type { Command } from 'commander';
import { isRow, type Row } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { escapeText } from '../print/escape.ts';
import { Failure } from '../failure.ts';
import { asCanary, canaryOf, type Proof, prove, proveGone, proveHere } from '../hooks/canary.ts';
import { heldWords, type HeldProof, isDenied, proveHeld } from '../hooks/held-canary.ts';
import { whyCodexSkips } from '../hooks/codex-runs.ts';
import { readHookLine } from '../hooks/command-line.ts';
import type { Scope, Way } from '../hooks/host.ts';
import { hostSettings } from '../hooks/host-settings.ts';
import { findProgram, findUngoverned, isOlder, isThere, type Ungoverned, ungovernedTitles, versionOf } from '../hooks/host-version.ts';
import { findHooks } from '../hooks/installation.ts';
import { offSwitches } from '../hooks/off-switches.ts';
import { lookAt, type SidecarSeen } from '../hooks/sidecar.ts';
import { libraryKeysHere, libraryKeyWords } from '../api/library-keys.ts';
import type { World } from '../world.ts';

interface Options {
  readonly recorded?: string;
  readonly held?: true;
}

export function addDoctorCommand(program: Command, cli: Cli): void {
  program
    .command('doctor')
    .description('show which coding agents of this machine use a sidecar, and check with a test call that a denial blocks them')
    .option(
      '--recorded <path>',
      'also send recorded hook inputs, from a folder with a subfolder for each host; the hosts need not be installed',
    )
    .option('--held', 'also check what happens while a call waits for a person: takes as long as the hooks wait, up to a minute')
    .action(act<Options>(cli, examine));
}

interface HooksSeen {
  readonly scope: Scope;
  readonly path: string;
  /** `command` or `http`. */
  readonly way: string;
  readonly proof: Proof;
  /** Reasons, in words, why a call could run without a decision. */
  readonly off: readonly string[];
  /**
   * Whether the call is also denied when the program of the hook is missing; null: this cannot be tested, for example
   * because the hook starts no program.
   */
  readonly deniesWithoutProgram: boolean | null;
  /** What happens while a call waits for a person; null: it was not asked for, or the hook starts no program. */
  readonly held: HeldProof | null;
  /** A remark about the host's version, in words; null: no remark. */
  readonly version: string | null;
}

interface HostSeen {
  readonly host: HostName;
  /** The file or program by which the host was found; null: it is not on this machine. */
  readonly found: string | null;
  readonly hooks: readonly HooksSeen[];
  /** Problems with settings that could not be read. */
  readonly problems: readonly string[];
}

async function examine({ world, options, print, client }: Asked<Options>): Promise<ExitCode> {
  const seen = await Promise.all(hosts.map((host) => examineHost(world, host, options.held === true)));
  const here = seen.filter(({ found, hooks }) => found !== null || hooks.length > 0);
  const ungoverned = await findUngoverned(world);
  const recorded = options.recorded === undefined ? [] : await proveRecorded(world, options.recorded);
  const asks = here.some(({ hooks }) => hooks.length > 0) || recorded.length > 0;
  const sidecar = await lookAt(world);
  const code = codeOf({ here, recorded, ungoverned, sidecar: asks ? sidecar : null });
  const libraryKeys = await libraryKeysHere(client);
  await print.lines({ sidecar, hosts: seen, ungoverned, recorded, libraryKeys, ok: code === 0 }, [
    ...sidecarLines(sidecar),
    ...(here.length === 0 && ungoverned.length === 0 ? [noneHere] : here.flatMap(hostLines)),
    ...ungoverned.flatMap(({ title, found }) => [
      escapeText(`${title}: found by ${found}`),
      '  tollgate has no hooks for it: its calls are not governed',
    ]),
    ...recorded.map(({ name, proof }) => escapeText(`recorded ${name}: ${proofWords(proof)}`)),
    ...libraryKeys.map((key) => escapeText(libraryKeyWords(key))),
  ]);
  return code;
}

const titles = [...hosts.map((host) => hostSettings[host].title), ...ungovernedTitles];
const noneHere = `none of ${titles.join(', ')} was found on this machine`;

async function examineHost(world: World, host: HostName, isHeld: boolean): Promise<HostSeen> {
  const hooks: HooksSeen[] = [];
  const problems: string[] = [];
  for (const scope of ['user', 'project'] as const) {
    try {
      const { path, text, installed } = await findHooks(world, host, scope);
      // In the user's home folder, both scopes have the same file. It is listed only once.
      if (installed === null || hooks.some((one) => one.path === path)) continue;
      const { way, gaps } = installed;
      const skips = host === 'codex' ? await whyCodexSkips(world, { scope, path, text }) : [];
      const version = await versionWords(world, host, way);
      hooks.push({
        scope,
        path,
        way: way.kind,
        proof: await prove(world, host, way, canaryOf(host)),
        off: [...gaps, ...(await offSwitches(world, host)), ...skips, ...version.filter(({ isOff }) => isOff).map((one) => one.words)],
        deniesWithoutProgram: (await proveGone(world, host, way))?.blocks ?? null,
        held: isHeld ? await proveHeld(world, host, installed) : null,
        version: version.find(({ isOff }) => !isOff)?.words ?? null,
      });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      problems.push(error.message);
    }
  }
  return { host, found: await findHost(world, host), hooks, problems };
}

interface VersionWords {
  readonly words: string;
  /** The host is older than the version for which the hooks were installed, so it may ignore some answers. */
  readonly isOff: boolean;
}

/** Describes a host whose version has changed since its hooks were installed; at most one element. */
async function versionWords(world: World, host: HostName, way: Way): Promise<readonly VersionWords[]> {
  const then = way.kind === 'http' ? (way.hostVersion ?? null) : (readHookLine(host, way.command)?.hostVersion ?? null);
  const { title, programs } = hostSettings[host];
  const now = then === null ? null : await versionOf(world, programs);
  if (then === null || now === null || now === then) return [];
  const isOff = isOlder(now, then);
  const words = `${title} is ${now} now, and the hooks were installed for ${then}: run tollgate hooks install ${host} again`;
  return [{ words: isOff ? `${words}, because an older version may ignore some answers` : words, isOff }];
}

/** Returns the host's folder in the user's home, or its program; null if neither exists. */
async function findHost(world: World, host: HostName): Promise<string | null> {
  const settings = hostSettings[host];
  const folder = settings.folder(world);
  return (await isThere(folder)) ? folder : findProgram(world, settings.programs);
}

interface RecordedProof {
  readonly name: string;
  readonly proof: Proof;
}

async function proveRecorded(world: World, folder: string): Promise<readonly RecordedProof[]> {
  const proofs: RecordedProof[] = [];
  for (const host of hosts) {
    const files = await readdir(join(folder, host)).catch(() => []);
    for (const file of files.filter((name) => name.endsWith('.json')).toSorted()) {
      const input = await inputIn(join(folder, host, file));
      if (!isBefore(input)) continue;
      proofs.push({ name: `${host}/${file}`, proof: await proveHere(world, host, asCanary(input)) });
    }
  }
  if (proofs.length === 0)
    throw new Failure(`${folder} contains no recorded input; it must have a subfolder for each host: ${hosts.join(', ')}`);
  return proofs;
}

async function inputIn(path: string): Promise<Row> {
  const value: unknown = await readFile(path, 'utf8')
    .then(JSON.parse, () => null)
    .catch(() => null);
  if (!isRow(value) || !isRow(value['input']))
    throw new Failure(`${path} is not a recorded input; its form is {"version": …, "input": {…}}`);
  return value['input'];
}

/**
 * Whether the input is from an event that comes before a call and has a field for the name of the tool. An event for
 * one specific tool has no such field. It cannot ask about the test tool, so it is skipped.
 */
const isBefore = (input: Row): boolean =>
  ['toolName', 'tool_name', 'tool'].some((name) => name in input) &&
  !('toolResult' in input) &&
  (typeof input['hook_event_name'] !== 'string' || /^(?:pre|before|tool\.execute\.before)/i.test(input['hook_event_name']));

interface Seen {
  readonly here: readonly HostSeen[];
  readonly recorded: readonly RecordedProof[];
  readonly ungoverned: readonly Ungoverned[];
  readonly sidecar: SidecarSeen | null;
}

function codeOf({ here, recorded, ungoverned, sidecar }: Seen): ExitCode {
  const proofs = [...here.flatMap(({ hooks }) => hooks.map(({ proof }) => proof)), ...recorded.map(({ proof }) => proof)];
  const isOff = ({ hooks, problems }: HostSeen): boolean =>
    problems.length > 0 ||
    hooks.some(
      ({ off, deniesWithoutProgram, held }) => off.length > 0 || deniesWithoutProgram === false || (held !== null && !isDenied(held)),
    );
  const broken = proofs.some(({ decided }) => !decided) || here.some(isOff);
  if (broken || (sidecar !== null && sidecar.problem !== null)) return 1;
  return here.some(({ hooks }) => hooks.length === 0) || ungoverned.length > 0 ? 2 : 0;
}

function sidecarLines({ url, problem, policy, key }: SidecarSeen): readonly string[] {
  if (problem !== null) return [escapeText(`sidecar ${url ?? 'nowhere'}: ${problem}`)];
  return [escapeText(`sidecar ${url ?? ''}: reachable; ${policy ?? 'no policy'}; the key from ${key ?? ''} is good`)];
}

function hostLines({ host, found, hooks, problems }: HostSeen): readonly string[] {
  const { title, notes } = hostSettings[host];
  const head = `${title}: ${found === null ? 'not found, but it has hooks' : `found by ${found}`}`;
  return [
    head,
    ...hooks.flatMap(({ scope, path, way, version, deniesWithoutProgram, held, ...seen }) => [
      `  hooks of the ${scope}, by ${way}, in ${path}: ${hookWords(seen)}`,
      ...(deniesWithoutProgram === false
        ? [`  CALLS WOULD RUN WITHOUT A DECISION if the program of the hook is missing: run tollgate hooks install ${host} again`]
        : []),
      ...(held === null ? [] : [`  ${heldWords(held)}`]),
      ...(version === null ? [] : [`  ${version}`]),
    ]),
    ...(hooks.length === 0 && problems.length === 0 ? [`  no hooks: its calls are not governed; run: tollgate hooks install ${host}`] : []),
    ...problems.map((problem) => `  ${problem}`),
    ...(hooks.length === 0 ? [] : notes.map((note) => `  ${note}`)),
  ].map(escapeText);
}

/**
 * Describes the result for hooks. If calls could run without a decision, the sidecar's answer has no effect, so the
 * proof is not shown.
 */
const hookWords = ({ off, proof }: Pick<HooksSeen, 'off' | 'proof'>): string =>
  off.length === 0 ? proofWords(proof) : `CALLS WOULD RUN WITHOUT A DECISION: ${off.join('; ')}`;

function proofWords({ denied, decided, words, unproven }: Proof): string {
  if (unproven === true) return `NOT PROVEN: ${words}`;
  if (decided) return 'the test call was denied, so a denial blocks';
  return denied ? `every call is denied: ${words}` : `A CALL WOULD RUN: ${words}`;
}
