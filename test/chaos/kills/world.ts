// Everything that may break, as separate processes: PostgreSQL, two control planes, three sidecars and an agent with
// the library, with a gate on each connection between them. All state is in one temporary folder.
import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ControlPlane, startControlPlane, startProgram, startSidecarProgram } from '../../support/programs.ts';
import { type Gate, startGate } from '../gate.ts';
import { type Postgres, startPostgres } from '../postgres.ts';
import {
  type GateName,
  isPlane,
  libraryName,
  type PlaneName,
  planeNames,
  type ProgramName,
  type SidecarName,
  sidecarNames,
} from './plan.ts';
import { type SupervisedProgram, supervise } from './supervised.ts';

export const ownerKey = `gsk_default_${'k'.repeat(40)}`;
export const windowSeconds = 5;

/** The endpoint that governs calls, and the process that answers. */
interface Agent {
  readonly url: string;
}

export interface World {
  readonly folder: string;
  readonly postgres: Postgres;
  readonly gates: ReadonlyMap<GateName, Gate>;
  readonly programs: ReadonlyMap<ProgramName, SupervisedProgram>;
  /** Null while it is down. */
  planeAt(name: PlaneName): ControlPlane | null;
  agentAt(name: SidecarName | typeof libraryName): Agent | null;
  /** The gate of that sidecar leads to that control plane from now on. */
  leadTo(name: SidecarName | typeof libraryName, plane: PlaneName): void;
  leadsTo(name: SidecarName | typeof libraryName): PlaneName;
  /** Starts it; `elsewhere`: with the other of its spool folders, or after its disk was lost. */
  start(name: ProgramName, elsewhere?: boolean): Promise<void>;
  /** When the disk of a sidecar was lost, by the wall clock. */
  readonly lostDisks: ReadonlyMap<Agents, readonly number[]>;
  /** Spool folders that a sidecar may have been started with, and that it does not use now. */
  leftFolders(): readonly string[];
  startAdopter(folder: string): Promise<SupervisedProgram>;
  close(): Promise<void>;
}

const libraryMain = fileURLToPath(new URL('library-main.ts', import.meta.url));

/**
 * Which sidecars share a spool folder. A sidecar with two folders switches between them, and leaves the entries in the
 * first.
 */
const spoolFolders: Readonly<Record<SidecarName | typeof libraryName, readonly [string, ...string[]]>> = {
  'sidecar-1': ['shared'],
  'sidecar-2': ['shared', 'second'],
  'sidecar-3': ['remote'],
  library: ['library'],
};

/** Its entries are committed before the decision is sent, so that its disk may be lost. */
const remote = 'sidecar-3';

export type Agents = SidecarName | typeof libraryName;
export const agentNames: readonly Agents[] = [...sidecarNames, libraryName];
export const isAgent = (name: string): name is Agents => agentNames.some((agent) => agent === name);

export async function createWorld({ key }: { readonly key: () => string }): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-kills-'));
  for (const each of ['logs', 'spools', 'planes']) mkdirSync(join(folder, each));
  const checkpointKey = join(folder, 'checkpoint.pem');
  const { privateKey } = generateKeyPairSync('ed25519');
  writeFileSync(checkpointKey, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
  const postgres = await startPostgres();
  const socket = join(postgres.connection.host, `.s.PGSQL.${postgres.connection.port}`);
  const gates = new Map<GateName, Gate>();
  for (const name of planeNames) gates.set(name, await startGate(socket));
  // Until its control plane is up, a sidecar's gate leads to a closed port.
  for (const name of agentNames) gates.set(name, await startGate('127.0.0.1:1'));

  const up = new Map<PlaneName, ControlPlane>();
  const urls = new Map<Agents, string>();
  const leads = new Map<Agents, PlaneName>(agentNames.map((name, at) => [name, planeNames[at % 2 === 0 ? 0 : 1]]));
  const folderOf = new Map<Agents, string>(agentNames.map((name) => [name, spoolFolders[name][0]]));
  const spoolDir = (name: string): string => join(folder, 'spools', name);
  const gateOf = (name: GateName): Gate => {
    const gate = gates.get(name);
    if (gate === undefined) throw new Error(`there is no gate of ${name}`);
    return gate;
  };

  const launchPlane = async (name: PlaneName, kill: AbortSignal): Promise<ControlPlane> => {
    const { user, database } = postgres.connection;
    const url = `postgres://${user}@${gateOf(name).address}/${database}?sslmode=disable&application_name=${name}`;
    const env = {
      DATABASE_URL: url,
      TOLLGATE_DATA_DIR: join(folder, 'planes', name),
      TOLLGATE_OWNER_KEY: ownerKey,
      TOLLGATE_RATE_WINDOW_SECONDS: String(windowSeconds),
      TOLLGATE_CHECKPOINT_KEY_FILE: checkpointKey,
    };
    const plane = await startControlPlane(env, 'built', kill);
    up.set(name, plane);
    for (const [agent, to] of leads) if (to === name) gateOf(agent).leadTo(plane.grpc);
    return plane;
  };
  const launchSidecar = async (name: SidecarName | 'adopter', spools: string, kill: AbortSignal) => {
    const to = name === 'adopter' ? 'sidecar-1' : name;
    const env = {
      TOLLGATE_KEY: key(),
      TOLLGATE_CONTROL_PLANE: gateOf(to).address,
      TOLLGATE_SPOOL_DIR: spools,
      TOLLGATE_SIDECAR_ID: name,
      TOLLGATE_DURABILITY: name === remote ? 'remote' : 'kernel',
    };
    const program = await startSidecarProgram(env, 'built', kill);
    if (name !== 'adopter') urls.set(name, program.url);
    return program;
  };
  const launchLibrary = async (kill: AbortSignal) => {
    const env = { CONTROL_PLANE: gateOf(libraryName).address, KEY: key(), SPOOL_DIR: spoolDir('library') };
    const program = await startProgram(['--import', 'tsx', libraryMain], { env, until: 'calls', kill });
    urls.set(libraryName, program.announced.get('calls') ?? '');
    return program;
  };
  const launchOf = (name: ProgramName): ((kill: AbortSignal) => Promise<ControlPlane | Awaited<ReturnType<typeof launchSidecar>>>) => {
    if (isPlane(name)) return (kill) => launchPlane(name, kill);
    if (name === libraryName) return async (kill) => ({ ...(await launchLibrary(kill)), url: urls.get(libraryName) ?? '' });
    return (kill) => launchSidecar(name, spoolDir(folderOf.get(name) ?? ''), kill);
  };
  const logFile = (name: string): string => join(folder, 'logs', `${name}.log`);
  const programs = new Map<ProgramName, SupervisedProgram>(
    [...planeNames, ...agentNames].map((name) => [name, supervise(name, { launch: launchOf(name), logFile: logFile(name) })]),
  );
  const extra: SupervisedProgram[] = [];
  const lostAt: number[] = [];
  const isUp = (name: ProgramName): boolean => (programs.get(name)?.current ?? null) !== null;

  return {
    folder,
    postgres,
    gates,
    programs,
    planeAt: (name) => (isUp(name) ? (up.get(name) ?? null) : null),
    agentAt: (name) => (isUp(name) ? { url: urls.get(name) ?? '' } : null),
    leadTo: (name, plane) => {
      leads.set(name, plane);
      gateOf(name).turnTo(up.get(plane)?.grpc ?? '127.0.0.1:1');
    },
    leadsTo: (name) => leads.get(name) ?? planeNames[0],
    start: async (name, elsewhere = false) => {
      if (name === remote && elsewhere) {
        rmSync(spoolDir('remote'), { recursive: true, force: true });
        lostAt.push(Date.now());
      }
      if (!isPlane(name) && elsewhere) {
        const folders = spoolFolders[name];
        folderOf.set(name, folders.find((each) => each !== folderOf.get(name)) ?? folders[0]);
      }
      await programs.get(name)?.start();
    },
    lostDisks: new Map([[remote, lostAt]]),
    // Another sidecar may use one of them: once a minute it takes over the entries that are left there, and no run
    // waits for that.
    leftFolders: () => agentNames.flatMap((name) => spoolFolders[name].filter((each) => each !== folderOf.get(name))).map(spoolDir),
    startAdopter: async (spools) => {
      const adopter = supervise('adopter', { launch: (kill) => launchSidecar('adopter', spools, kill), logFile: logFile('adopter') });
      extra.push(adopter);
      await adopter.start();
      return adopter;
    },
    close: async () => {
      for (const each of [...programs.values(), ...extra]) {
        each.signal('SIGCONT');
        await each.kill();
      }
      for (const gate of gates.values()) await gate.close();
      await postgres.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
