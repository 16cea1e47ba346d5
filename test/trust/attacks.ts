// Attacks with a stolen key, each as an attacker with that key would execute it. An attack returns whether it
// succeeded.
import { join } from 'node:path';
import type { LeaseResponse__Output, ShipResponse__Output } from '@tollgate/proto';
import { openLease, openShip, openSync } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';
import { copySpool, type Entry, madeUp, type Sidecar, spoolsIn, type Stage, type Workspace } from './stage.ts';

export interface Attack {
  readonly name: string;
  /** The scopes of the stolen key. */
  readonly key: string;
  readonly succeeds: (stage: Stage) => Promise<boolean>;
}

let workspaces = 0;
const newWorkspace = (stage: Stage): Promise<Workspace> => stage.makeWorkspace(`acme-${(workspaces += 1)}`);

interface Victim {
  readonly workspace: Workspace;
  readonly sidecar: Sidecar;
  readonly key: string;
}

/** A sidecar of another user, which has decided a few calls. */
async function startVictim(stage: Stage): Promise<Victim> {
  const workspace = await newWorkspace(stage);
  const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
  const sidecar = await stage.startSidecar(key);
  await eventually(
    () => sidecar.call({ key }),
    (decision) => decision === 'allow',
  );
  await sidecar.delivered();
  return { workspace, sidecar, key };
}

/** `<spool>-<sequence>`, as every reader of the log sees it. */
function placeOf({ id }: Entry): { readonly spoolId: string; readonly sequence: number } {
  const [spoolId = '', sequence] = id.split('-');
  return { spoolId, sequence: Number(sequence) };
}

const forged = (sequence: number, sub = 'forged', requestId = `forged-${sequence}`) => ({
  sequence,
  entry: Buffer.from(
    JSON.stringify({
      hookEvent: 'PreToolUse',
      tool: 'server7.tool_7',
      decision: 'allow',
      code: 'allowed',
      decisionReason: 'allowed: nothing says otherwise',
      agentName: 'free',
      agentTier: 'api',
      sub,
      userEmail: '',
      sessionId: 'forged',
      requestId,
      ts: new Date().toISOString(),
      client: { name: 'forged' },
      depth: 0,
    }),
  ),
});

/** Sends one batch with a stolen key; returns the answer, or how the stream ended. */
async function shipForged(stage: Stage, key: string, spoolId: string, records: readonly ReturnType<typeof forged>[]): Promise<unknown> {
  const wire = openShip(stage, key);
  wire.write({ hello: { sidecarId: 'stolen' } });
  await wire.next();
  wire.write({ batch: { spoolId, spoolSecret: madeUp(), records: [...records] } });
  const answered = await Promise.race([wire.next().then(({ message }: ShipResponse__Output) => message), wire.ended]);
  wire.close();
  return answered;
}

/** The victim continues; returns whether calls that it decided since are missing from the log. */
async function losesCalls({ sidecar, key, workspace }: Victim, stage: Stage, before: readonly Entry[]): Promise<boolean> {
  const own = (entries: readonly Entry[]): number => entries.filter(({ sessionId }) => sessionId === 'session').length;
  for (let n = 0; n < 5; n += 1) if ((await sidecar.call({ key })) !== 'allow') throw new Error('the victim is denied');
  await sidecar.delivered();
  return own(await stage.entries(workspace)) < own(before) + 5;
}

const erasure = (name: string, sequencesFrom: (last: number) => readonly number[]): Attack => ({
  name,
  key: 'sidecar.sync',
  succeeds: async (stage) => {
    const victim = await startVictim(stage);
    const stolen = await stage.keyWith(victim.workspace, ['sidecar.sync']);
    const before = await stage.entries(victim.workspace);
    const last = before.at(-1);
    if (last === undefined) throw new Error('the victim has no entry');
    const { spoolId, sequence } = placeOf(last);
    await shipForged(
      stage,
      stolen,
      spoolId,
      sequencesFrom(sequence).map((at) => forged(at)),
    );
    return losesCalls(victim, stage, before);
  },
});

const revisionOf = async (stage: Stage, workspace: Workspace): Promise<{ readonly epoch: string; readonly number: number }> => {
  const { body } = await stage.ask(workspace, 'sidecars');
  return { epoch: String(body['epoch']), number: Number(body['revision']) };
};

const limitId = 'workspace tools["limited.*"].api';
const most = 4_000_000_000;

/** Asks for a limit with a stolen key; returns the granted tokens, and the id of the grant. */
async function seize(
  stage: Stage,
  {
    key,
    holder,
    sub,
    settled = [],
  }: { readonly key: string; readonly holder: Buffer; readonly sub: string; readonly settled?: readonly number[] },
  revision: { readonly epoch: string; readonly number: number },
): Promise<{ readonly tokens: number; readonly id: number }> {
  const wire = openLease(stage, key);
  wire.write({ hello: { sidecarId: 'stolen', holderSecret: holder } });
  const counter = { limit: { originSub: sub, id: limitId } };
  let number = 0;
  const ask = async (): Promise<{ readonly tokens: number; readonly id: number } | null> => {
    const settling = settled.map((grantId) => ({ grantId, used: [] }));
    wire.write({ asks: { asks: [{ counter, number: (number += 1), waiting: most, revision, settled: number === 1 ? settling : [] }] } });
    const answer = await wire.next().then(({ answers }: LeaseResponse__Output) => answers?.answers[0]);
    // The control plane does not know its own policy yet, or never gives this key another answer.
    return answer?.later == null ? { tokens: answer?.grant?.tokens ?? 0, id: answer?.grant?.id ?? 0 } : null;
  };
  const granted = await eventually(ask, (answer) => answer !== null, 2_000).catch(() => null);
  wire.close();
  return granted ?? { tokens: 0, id: 0 };
}

const subjectOf = async (stage: Stage, { workspace }: Victim): Promise<string> => (await stage.entries(workspace)).at(-1)?.sub ?? '';

/** A workspace that is removed, and created again under its slug by another person. */
async function succession(stage: Stage, before: Workspace): Promise<Workspace> {
  await stage.removeWorkspace(before.slug);
  return stage.makeWorkspace(before.slug);
}

/** A folder with entries that the control plane has never received. */
async function leaveUnshipped(stage: Stage): Promise<{ readonly workspace: Workspace; readonly folder: string; readonly key: string }> {
  const workspace = await newWorkspace(stage);
  const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
  const folder = stage.newFolder('spool');
  const sidecar = await stage.startSidecar(key, folder);
  await eventually(
    () => sidecar.call({ key }),
    (decision) => decision === 'allow',
  );
  await stage.killControlPlane();
  for (let n = 0; n < 5; n += 1) await sidecar.call({ key, session: 'of the tenant before' });
  await sidecar.end('SIGKILL');
  await stage.startControlPlane();
  return { workspace, folder, key };
}

/** The folder where the control plane keeps the spools of its own runs: one for each database that it has had. */
function runsFolderOf({ dataDir }: Stage): string {
  const [ofDatabase = ''] = spoolsIn(join(dataDir, 'runs-spool'));
  return join(dataDir, 'runs-spool', ofDatabase);
}

const inherited = (entries: readonly Entry[]): boolean => entries.some(({ sessionId }) => sessionId === 'of the tenant before');

/** Waits until the left entries have arrived, or were refused. */
async function isInherited(stage: Stage, workspace: Workspace): Promise<boolean> {
  return eventually(
    async () => inherited(await stage.entries(workspace)),
    (arrived) => arrived || /a batch (?:of audit entries )?was refused/.test(stage.log()) || stage.log().includes('"other_workspace"'),
    30_000,
  );
}

export const attacks: readonly Attack[] = [
  erasure('erases and forges the entries of another sidecar, whose spool the log names', (last) => [1, 2, 3, 4, 5].map((n) => last + n)),
  erasure('has all later entries of another sidecar taken for replays', () => [1_000_000]),
  {
    name: 'writes entries as any subject with the key of a library',
    key: 'sidecar.library, govern',
    succeeds: async (stage) => {
      const workspace = await newWorkspace(stage);
      await shipForged(stage, await stage.libraryKey(workspace), madeUp().toString(), [forged(1, 'owner')]);
      return (await stage.entries(workspace)).some(({ sub }) => sub === 'owner');
    },
  },
  {
    name: 'starves any user of a limit with the key of a library',
    key: 'sidecar.library, govern',
    succeeds: async (stage) => {
      const victim = await startVictim(stage);
      const { workspace, sidecar, key } = victim;
      const sub = await subjectOf(stage, victim);
      const stolen = await stage.libraryKey(workspace);
      await seize(stage, { key: stolen, holder: madeUp(), sub }, await revisionOf(stage, workspace));
      return (await sidecar.call({ key, tool: 'limited.tool' })) !== 'allow';
    },
  },
  {
    name: 'is sent all members and the hashes of all keys with the key of a library',
    key: 'sidecar.library, govern',
    succeeds: async (stage) => {
      const workspace = await newWorkspace(stage);
      await stage.keyWith(workspace, ['sidecar.sync']);
      const wire = openSync(stage, await stage.libraryKey(workspace));
      wire.write({ hello: { sidecarId: 'stolen', bootId: 'stolen', form: 'FORM_PROCESS', schemaVersion: 1, heldHash: Buffer.alloc(0) } });
      const sent = await Promise.race([wire.next().then(({ snapshot }) => snapshot?.entries ?? []), wire.ended.then(() => [])]);
      wire.close();
      return sent.filter((entry) => entry.key.startsWith('key/') && /"hash":"[0-9a-f]{64}"/.test(String(entry.value))).length > 1;
    },
  },
  {
    name: 'settles the grants of another sidecar as unused, as the holder that the list of sidecars names',
    key: 'sidecar.sync',
    succeeds: async (stage) => {
      const victim = await startVictim(stage);
      const { workspace, sidecar, key } = victim;
      const sub = await subjectOf(stage, victim);
      const stolen = await stage.keyWith(workspace, ['sidecar.sync']);
      const revision = await revisionOf(stage, workspace);
      const { body } = await stage.ask(workspace, 'sidecars');
      const bootId: unknown = Object(body)['sidecars'][0]?.bootId;
      // It has half of what is left now.
      if ((await sidecar.call({ key, tool: 'limited.tool' })) !== 'allow') throw new Error('the victim is denied');
      const holder = Buffer.from(String(bootId));
      const rest = await seize(stage, { key: stolen, holder, sub }, revision);
      // Ids count up by one.
      const all = await seize(stage, { key: stolen, holder, sub, settled: [rest.id, rest.id - 1] }, revision);
      return all.tokens >= 60;
    },
  },
  {
    name: 'brings entries of a workspace that was deleted into the log of the one that has its slug now',
    key: 'sidecar.sync, of the new workspace',
    succeeds: async (stage) => {
      const left = await leaveUnshipped(stage);
      const workspace = await succession(stage, left.workspace);
      const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
      await stage.startSidecar(key, left.folder);
      return isInherited(stage, workspace);
    },
  },
  {
    name: 'brings them there by the folder for runs of the control plane itself',
    key: 'none',
    succeeds: async (stage) => {
      const left = await leaveUnshipped(stage);
      const workspace = await succession(stage, left.workspace);
      await stage.stopControlPlane();
      for (const id of spoolsIn(left.folder)) copySpool(join(left.folder, id), join(runsFolderOf(stage), id));
      await stage.startControlPlane();
      return isInherited(stage, workspace);
    },
  },
  {
    name: 'is let in by a key of the workspace that was deleted, until the sidecar of the new one has heard of its own policy',
    key: 'sidecar.sync, of the new workspace',
    succeeds: async (stage) => {
      const left = await leaveUnshipped(stage);
      const workspace = await succession(stage, left.workspace);
      const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
      await stage.killControlPlane();
      const sidecar = await stage.startSidecar(key, left.folder);
      const decision = await sidecar.call({ key: left.key });
      await stage.startControlPlane();
      return decision === 'allow';
    },
  },
];
