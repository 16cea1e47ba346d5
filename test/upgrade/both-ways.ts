// `node --import tsx test/upgrade/both-ways.ts [commit]`: runs the programs of the recorded version
// (`recorded-version`) against those of this tree, in both directions: entries, leases, snapshots, and spools that the
// other has left. A rule that the recorded version does not understand reaches its sidecar as a denial. Then hooks that
// the recorded version installed start this tree's program. The last line is `upgrade: N checks, M failed`.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClosing } from '../bench/side/stage.ts';
import { buildCommit, type Tree, thisTree } from '../bench/side/tree.ts';
import { ask, eventually } from '../support/programs.ts';
import { openStage, type Sidecar, type Stage, startSidecar, type Workspace } from '../trust/stage.ts';
import { checkInstalledHooks } from './installed-hooks.ts';

const recorded = readFileSync(new URL('recorded-version', import.meta.url), 'utf8').trim();
const limit = 60;
const leastAdmitted = 54;

let checks = 0;
let failed = 0;

async function check(what: string, holds: () => Promise<void>): Promise<void> {
  checks += 1;
  try {
    await holds();
    process.stdout.write(`ok      ${what}\n`);
  } catch (error) {
    failed += 1;
    process.stdout.write(`FAILED  ${what}: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

function same(seen: unknown, wanted: unknown): void {
  if (seen !== wanted) throw new Error(`is ${String(seen)}, should be ${String(wanted)}`);
}

const allowed = (sidecar: Sidecar, key: string, tool?: string): Promise<string> =>
  eventually(
    () => sidecar.call({ key, ...(tool === undefined ? {} : { tool }) }),
    (decision) => decision === 'allow',
  );

const countOf = async (stage: Stage, workspace: Workspace, session: string): Promise<number> =>
  (await stage.entries(workspace)).filter(({ sessionId }) => sessionId === session).length;

/** The control plane of one tree, and sidecars of both. */
async function runWith(plane: Tree, other: Tree, folder: string, closing: Parameters<typeof openStage>[2]): Promise<void> {
  const way = `control plane of ${plane.name}, sidecar of ${other.name}`;
  const stage = await openStage(plane, folder, closing);
  const workspace = await stage.makeWorkspace('acme');
  const key = await stage.keyWith(workspace, ['sidecar.sync', 'govern']);
  const start = (tree: Tree, spoolDir = stage.newFolder('spool')): Promise<Sidecar> =>
    startSidecar(tree, { key, spoolDir, controlPlane: stage.address() }, closing);
  const spoolDir = stage.newFolder('shared');
  const theirs = await start(other, spoolDir);
  const ours = await start(plane);

  await check(`${way}: takes the policy and decides`, async () => void (await allowed(theirs, key)));
  await check(`${way}: feels a change of it`, async () => {
    const deny = { tools: { 'server7.tool_7': { api: { permission: 'deny' } } } };
    await stage.ask(workspace, 'workspacePolicy', { method: 'PUT', body: deny });
    await eventually(
      () => theirs.call({ key }),
      (decision) => decision === 'deny',
    );
    await stage.ask(workspace, 'workspacePolicy', { method: 'PUT', body: { tools: { 'server7.tool_7': null } } });
    await allowed(theirs, key);
  });
  if (plane === thisTree && !knowsConditions(other)) await checkLowered(way, stage, workspace, { key, theirs, ours });
  await check(`${way}: shares a limit with a sidecar of the other version`, async () => {
    await allowed(ours, key);
    let admitted = 0;
    for (let n = 0; n < limit; n += 1)
      for (const sidecar of [theirs, ours]) if ((await sidecar.call({ key, tool: 'limited.tool' })) === 'allow') admitted += 1;
    // On a busy machine a grant can expire before its calls are made. They count as made, so fewer are admitted, never more.
    if (admitted > limit || admitted < leastAdmitted) throw new Error(`admitted ${admitted}, should be ${leastAdmitted} to ${limit}`);
  });
  await check(`${way}: its entries arrive once`, async () => {
    for (let n = 0; n < 20; n += 1) await theirs.call({ key, session: 'counted' });
    await theirs.delivered();
    same(await countOf(stage, workspace, 'counted'), 20);
  });
  await check(`${way}: what it leaves is taken over by a sidecar of the other version`, async () => {
    await stage.killControlPlane();
    for (let n = 0; n < 20; n += 1) await theirs.call({ key, session: 'left' });
    await theirs.end('SIGKILL');
    await stage.startControlPlane();
    const heir = await start(plane, spoolDir);
    // In a session of its own: the recorded version leaves nothing that says how much of a session's cap it has used.
    await eventually(
      () => heir.call({ key, session: 'heir' }),
      (decision) => decision === 'allow',
    );
    await heir.delivered();
    same(await countOf(stage, workspace, 'left'), 20);
  });
}

/** Read from the built file. */
const knowsConditions = ({ root }: Tree): boolean =>
  readFileSync(join(root, 'proto/dist/contract/capabilities.js'), 'utf8').includes("'conditions'");

interface Two {
  readonly key: string;
  readonly theirs: Sidecar;
  readonly ours: Sidecar;
}

/** A rule with cases, which only this tree understands. */
async function checkLowered(way: string, stage: Stage, workspace: Workspace, { key, theirs, ours }: Two): Promise<void> {
  const cases = [{ name: 'large', when: 'has(args.amount) && args.amount > 100', permission: 'deny' }];
  const body = {
    tools: { 'server7.tool_7': { api: { permission: 'allow', cases } }, 'server7.tool_8': { api: { permission: 'deny' } } },
  };
  const put = (query: string) =>
    ask(`${stage.rest()}/${workspace.slug}/admin/workspacePolicy${query}`, workspace.key, { method: 'PUT', body });
  await check(`${way}: a rule with cases is refused, and the sidecar is named`, async () => {
    // A sidecar is listed a moment after it has connected.
    await eventually(
      async () => (await ask(`${stage.rest()}/${workspace.slug}/admin/sidecars`, workspace.key)).body['sidecars'],
      (sidecars) => Array.isArray(sidecars) && sidecars.filter(({ connected }) => connected).length >= 2,
    );
    const { status, body: refusal } = await put('');
    same(status, 409);
    same(/^this policy needs conditions, which sidecars lack: \S/.test(String(refusal['error'])), true);
  });
  await check(`${way}: forced, it denies there and is read here; all other rules reach both`, async () => {
    await allowed(theirs, key, 'server7.tool_8');
    same((await put('?force=true')).status, 200);
    for (const sidecar of [theirs, ours])
      await eventually(
        () => sidecar.call({ key, tool: 'server7.tool_8' }),
        (decision) => decision === 'deny',
      );
    same(await theirs.call({ key }), 'deny');
    same(await ours.call({ key }), 'allow');
    same(await theirs.call({ key, tool: 'server7.tool_9' }), 'allow');
    await stage.ask(workspace, 'workspacePolicy', { method: 'PUT', body: { tools: { 'server7.tool_7': null, 'server7.tool_8': null } } });
    await allowed(theirs, key);
  });
}

process.exitCode = await withClosing(async (closing, folder) => {
  const there = await buildCommit(process.argv[2] ?? recorded, closing);
  for (const [at, [plane, other]] of [[thisTree, there] as const, [there, thisTree] as const].entries())
    await check(`${plane.name} is there`, () => runWith(plane, other, `${folder}/${at}`, closing));
  await check('hooks of before are there', () => checkInstalledHooks(check, there, `${folder}/hooks`, closing));
  process.stdout.write(`upgrade: ${checks} checks, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
});
