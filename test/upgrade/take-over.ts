// `node --import tsx test/upgrade/take-over.ts [commit]`: this tree's programs take over what those of an earlier
// commit left: a database with 100,000 entries, three spools that were not shipped, and policy on disk. Everything is
// stopped in between, by kill -9. Ends with 1 where an entry is lost, duplicated or renamed, or the chain does not
// verify.
import assert from 'node:assert/strict';
import { withClosing } from '../bench/side/stage.ts';
import { buildCommit, firstVersion, thisTree } from '../bench/side/tree.ts';
import { noteFrom, verify } from '../chain/log.ts';
import { openShip } from '../support/plane.ts';
import { eventually } from '../support/programs.ts';
import { openStage, type Sidecar, type Stage, startWithout, type Workspace } from '../trust/stage.ts';

const entriesWanted = 100_000;
const batchRecords = 1_000;
const spoolsLeft = 3;
const callsLeft = 20;

const say = (words: string): void => void process.stdout.write(`${words}\n`);

async function takeOver(closing: Parameters<typeof openStage>[2], folder: string): Promise<number> {
  const [commit = firstVersion] = process.argv.slice(2);
  const before = await openStage(await buildCommit(commit, closing), folder, closing);
  const workspace = await before.makeWorkspace('acme');
  const key = await before.keyWith(workspace, ['sidecar.sync', 'govern']);
  await shipMany(before, key);
  const folders = Array.from({ length: spoolsLeft }, () => before.newFolder('spool'));
  const sidecars = await Promise.all(folders.map((spoolDir) => before.startSidecar(key, spoolDir)));
  for (const sidecar of sidecars) await isAllowed(sidecar, key);
  for (const sidecar of sidecars) await sidecar.delivered();
  const ids = await readIds(before, workspace);
  const note = noteOf(await before.ask(workspace, 'audit/checkpoint', { method: 'POST' }));
  await before.killControlPlane();
  for (const sidecar of sidecars)
    for (let n = 0; n < callsLeft; n += 1) assert.equal(await sidecar.call({ key, session: `left-${n}` }), 'allow');
  for (const sidecar of sidecars) await sidecar.end('SIGKILL');
  say(`${commit}: ${ids.length} entries in the log, ${spoolsLeft} spools with ${callsLeft} calls each that it has not seen`);

  // A tree starts a control plane when its stage is opened, so the sidecars without one run before.
  await decidesFromDisk(folders, key, closing);
  const after = await openStage(thisTree, folder, closing);
  for (const spoolDir of folders) await (await after.startSidecar(key, spoolDir)).delivered();
  const taken = await eventually(
    () => readIds(after, workspace),
    (all) => all.length >= ids.length + spoolsLeft * (callsLeft + 1),
    60_000,
  );
  assert.deepEqual(taken.slice(0, ids.length), ids, 'ids, or their order, are others than before');
  assert.equal(new Set(taken).size, taken.length, 'an entry appears twice');
  // The sidecars that decided from disk have left an entry each.
  assert.equal(taken.length, ids.length + spoolsLeft * (callsLeft + 1), 'not every call of the spools has its entry');
  const log = await (
    await fetch(`${after.rest()}/acme/admin/audit/chain`, { headers: { authorization: `Bearer ${workspace.key}` } })
  ).arrayBuffer();
  const verified = verify(Buffer.from(log), { kept: [{ name: `of ${commit}`, note }] });
  assert.equal(verified.kind, 'sound', JSON.stringify(verified).slice(0, 1_000));
  say(`this tree: ${taken.length} entries, the ids of before unchanged, none twice; the chain verifies from a checkpoint of before`);
  return 0;
}

/** Entries as a sidecar of that tree ships them, from a few spools. */
async function shipMany(stage: Stage, key: string): Promise<void> {
  const wire = openShip(stage, key);
  wire.write({ hello: { sidecarId: 'many' } });
  await wire.next();
  const spools = Array.from({ length: 4 }, (_, at) => `${at}`.repeat(32));
  const rounds = entriesWanted / batchRecords / spools.length;
  for (let round = 0; round < rounds; round += 1)
    for (const spoolId of spools) {
      const from = round * batchRecords + 1;
      wire.write({ batch: { spoolId, records: Array.from({ length: batchRecords }, (_, at) => recordOf(spoolId, from + at)) } });
      const { acknowledged } = await wire.next();
      assert.equal(Number(acknowledged?.sequence), from + batchRecords - 1);
    }
  wire.close();
}

const recordOf = (spoolId: string, sequence: number) => ({
  sequence,
  entry: Buffer.from(
    JSON.stringify({
      hookEvent: 'PreToolUse',
      tool: `server7.tool_${sequence % 50}`,
      decision: sequence % 9 === 0 ? 'deny' : 'allow',
      code: sequence % 9 === 0 ? 'denied' : 'allowed',
      decisionReason: 'as it was',
      agentName: 'free',
      agentTier: 'api',
      sub: `user-${sequence % 100}`,
      userEmail: '',
      sessionId: spoolId,
      requestId: `${spoolId}-${sequence}`,
      ts: new Date().toISOString(),
      client: { name: 'many' },
      depth: 0,
      input: { path: `/srv/data/${sequence}`, text: 'x'.repeat(sequence % 200) },
    }),
  ),
});

async function isAllowed(sidecar: Sidecar, key: string): Promise<void> {
  await eventually(
    () => sidecar.call({ key }),
    (decision) => decision === 'allow',
  );
}

/** All ids of the log, in order. */
async function readIds(stage: Stage, workspace: Workspace): Promise<readonly string[]> {
  const answer = await fetch(`${stage.rest()}/${workspace.slug}/admin/audit/export`, {
    headers: { authorization: `Bearer ${workspace.key}` },
  });
  const lines = (await answer.text()).trim().split('\n');
  return lines.map((line) => String(JSON.parse(line).id));
}

const noteOf = ({ body }: { readonly body: Readonly<Record<string, unknown>> }) => noteFrom(String(body['checkpoint']));

/** Before the control plane starts: decides by the policy that the earlier sidecars stored. */
async function decidesFromDisk(folders: readonly string[], key: string, closing: Parameters<typeof openStage>[2]): Promise<void> {
  for (const spoolDir of folders) {
    const sidecar = await startWithout(thisTree, { key, spoolDir }, closing);
    assert.equal(await sidecar.call({ key, session: 'from disk' }), 'allow');
    await sidecar.end();
  }
  say('this tree: decides by the policy on disk of before, without a control plane');
}

process.exitCode = await withClosing(takeOver);
