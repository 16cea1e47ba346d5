// A control plane, a sidecar and the command line of this tree, as a user has them. The program that hooks start is
// reached by a link, so that it can disappear as it does when an `npx` cache is cleaned.
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, type ControlPlane, eventually, type SidecarProgram, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { type Person, startPerson } from './person.ts';

const tree = fileURLToPath(new URL('../../cli/bin.js', import.meta.url));
const server = fileURLToPath(new URL('notes-server.js', import.meta.url));
const neverAnswers = fileURLToPath(new URL('never-answers.js', import.meta.url));
const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const tiers = ['interactive', 'subagent', 'background', 'api'];

/** A write keeps omitted fields, so both are always set. */
interface Rule {
  readonly permission: 'allow' | 'ask' | 'deny';
  readonly transform: 'log' | 'redact';
}

export interface Stage {
  readonly folder: string;
  /** The rule of every tier for every tool, and for the tool `append` of the MCP server; absent: the same. */
  policy(rule: Rule, append?: Rule): Promise<void>;
  /** Stops the sidecar while `work` runs: `down` is ended, `hangs` is frozen. */
  without<T>(how: 'down' | 'hangs', work: () => Promise<T>): Promise<T>;
  /** Creates a program that installed hooks can start, until it is removed. */
  program(): Promise<Program>;
  readonly connection: { readonly TOLLGATE_KEY: string; readonly TOLLGATE_SIDECAR: string };
  /** Who answers. */
  readonly person: Person;
  close(): Promise<void>;
}

export interface Program {
  readonly path: string;
  remove(): Promise<void>;
  /** Puts a hook that never answers in its place. Returns when that was started, in ms since 1970; null: not yet. */
  hang(): Promise<() => Promise<number | null>>;
}

export async function startStage(): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), 'coding-agents-'));
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: ownerKey });
  const keyFor = async (scope: string, who: { readonly uid?: string } = {}): Promise<string> =>
    String((await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: scope, scopes: [scope], ...who } })).body['key']);
  const [syncKey, key] = [await keyFor('sidecar.sync'), await keyFor('govern')];
  await ask(`${plane.rest}/default/admin/members`, ownerKey, { body: { uid: 'bob', email: 'bob@example.com', role: 'admin' } });
  const person = await startPerson({
    program: tree,
    folder: join(folder, 'bob'),
    url: plane.rest,
    key: await keyFor('admin.approvals', { uid: 'bob' }),
  });
  const gateway = join(folder, 'gateway.json');
  await writeFile(gateway, JSON.stringify({ mcpServers: { notes: { command: process.execPath, args: [server] } } }));
  const start = (port: string): Promise<SidecarProgram> =>
    startSidecarProgram({
      TOLLGATE_CONTROL_PLANE: plane.grpc,
      TOLLGATE_KEY: syncKey,
      TOLLGATE_SPOOL_DIR: join(folder, 'spool'),
      TOLLGATE_SIDECAR_PORT: port,
      TOLLGATE_GATEWAY_FILE: gateway,
    });
  let sidecar = await start('0');
  const { url } = sidecar;
  const again = async (): Promise<void> => {
    sidecar = await start(new URL(url).port);
    await ready(url);
  };
  await ready(url);
  return {
    folder,
    person,
    connection: { TOLLGATE_KEY: key, TOLLGATE_SIDECAR: url },
    policy: (rule, append = rule) => writePolicy(plane, url, { rule, append }),
    without: async (how, work) => {
      if (how === 'down') await sidecar.end();
      else sidecar.signal('SIGSTOP');
      return work().finally(how === 'down' ? again : () => sidecar.signal('SIGCONT'));
    },
    program: async () => {
      const made = await mkdtemp(join(folder, 'program-'));
      await symlink(tree, join(made, 'bin.js'));
      return programIn(made);
    },
    close: async () => {
      await sidecar.end();
      await plane.end();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function programIn(folder: string): Program {
  const path = join(folder, 'bin.js');
  return {
    path,
    remove: () => rm(folder, { recursive: true }),
    hang: async () => {
      await rm(path);
      await copyFile(neverAnswers, path);
      return () => readFile(join(folder, 'asked'), 'utf8').then(Number, () => null);
    },
  };
}

const ready = (url: string): Promise<unknown> =>
  eventually(
    () => ask(`${url}/readyz`, ownerKey).catch(() => ({ status: 0 })),
    ({ status }) => status === 200,
  );

async function writePolicy(
  { rest }: ControlPlane,
  sidecar: string,
  { rule, append }: Readonly<Record<'rule' | 'append', Rule>>,
): Promise<void> {
  const inTiers = (one: Rule): object => Object.fromEntries(tiers.map((tier) => [tier, one]));
  const body = { defaults: inTiers(rule), tools: { 'notes.append': inTiers(append) } };
  const { status, body: answer } = await ask(`${rest}/default/admin/workspacePolicy`, ownerKey, { method: 'PUT', body });
  const revision = Number(answer['revision']);
  if (status !== 200 || !Number.isInteger(revision)) throw new Error(`the policy was refused: ${JSON.stringify(answer)}`);
  await eventually(
    () => ask(`${sidecar}/healthz`, ownerKey),
    ({ body: health }) => revisionIn(health) >= revision,
  );
}

function revisionIn({ policy }: Readonly<Record<string, unknown>>): number {
  if (typeof policy !== 'object' || policy === null || !('revision' in policy)) return -1;
  return Number(policy.revision);
}
