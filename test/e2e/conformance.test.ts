// The cases of clients/conformance with the hook endpoint of a sidecar, that of a control plane, and the library, against
// programs. The Python client runs the same cases in clients/python/tests/test_conformance.py.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@tollgate/sidecar';
import { Compile } from 'typebox/schema';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, eventually, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { type Case, cases, folder } from './conformance/cases.ts';
import { hookClient, libraryClient, type OpenClient } from './conformance/clients.ts';
import { runCase, type Stand } from './conformance/run-case.ts';

const owner = `gsk_default_${'k'.repeat(40)}`;
const clients = ['sidecar', 'control-plane', 'library'] as const;
type Client = (typeof clients)[number];

const ends: (() => Promise<unknown> | void)[] = [];
const open = new Map<Client | 'no policy', OpenClient>();
let stand: Stand;

async function post(path: string, body: unknown, method = 'POST'): Promise<Readonly<Record<string, unknown>>> {
  const answer = await ask(`${stand.rest}${path}`, owner, { method, body });
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const newKey = async (uid: string | null, ...scopes: string[]): Promise<string> =>
  String((await post('/default/admin/keys', { name: scopes.join(), scopes, ...(uid === null ? {} : { uid }) }))['key']);

/** The policies of all cases in one workspace: no case says anything about a tool of another one. */
async function writePolicies(): Promise<void> {
  const tools = Object.assign({}, ...cases.map(({ policy }) => policy.workspace?.tools ?? {})) as object;
  await post('/default/admin/workspacePolicy', { tools }, 'PUT');
  for (const { policy } of cases) {
    for (const [type, document] of Object.entries(policy.agentTypes ?? {}))
      await post(`/default/admin/agentTypePolicies/${encodeURIComponent(type)}`, document, 'PUT');
    for (const agent of policy.agents ?? []) await post('/api/v1/agents', { model: 'demo/echo', ...agent });
  }
}

beforeAll(async () => {
  const folderOf = (name: string): string => join(made, name);
  const made = mkdtempSync(join(tmpdir(), 'tollgate-conformance-'));
  ends.push(() => rmSync(made, { recursive: true, force: true }));
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: folderOf('plane'), TOLLGATE_OWNER_KEY: owner });
  ends.push(() => plane.end());
  stand = { rest: plane.rest, owner, person: '' };
  // A limit counts for each user, so each client is another one.
  for (const uid of [...clients, 'person'])
    await post('/default/admin/members', { uid, email: `${uid}@example.com`, role: uid === 'person' ? 'admin' : 'member' });
  await writePolicies();
  stand = { ...stand, person: await newKey('person', 'admin.approvals') };
  const sync = await newKey(null, 'sidecar.sync');
  const sidecar = (env: Readonly<Record<string, string>>) =>
    startSidecarProgram({ TOLLGATE_CONTROL_PLANE: plane.grpc, TOLLGATE_KEY: sync, ...env });
  const [one, without, gate] = await Promise.all([
    sidecar({ TOLLGATE_SPOOL_DIR: folderOf('sidecar') }),
    sidecar({ TOLLGATE_SPOOL_DIR: folderOf('without'), TOLLGATE_CONTROL_PLANE: '127.0.0.1:1' }),
    connect({
      controlPlane: plane.grpc,
      key: await newKey('library', 'sidecar.library', 'govern'),
      spoolDir: folderOf('library'),
    }),
  ]);
  ends.push(() => Promise.all([one.end(), without.end(), gate.close()]));
  await eventually(
    () => ask(`${one.url}/readyz`, owner),
    ({ status }) => status === 200,
  );
  open.set('sidecar', hookClient(one.url, await newKey('sidecar', 'govern')));
  open.set('no policy', hookClient(without.url, owner));
  open.set('control-plane', hookClient(plane.rest, await newKey('control-plane', 'govern')));
  open.set('library', libraryClient(gate));
});

afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const problemsOf = (one: Case, client: Client, session = `${client} ${one.name}`) => {
  const opened = open.get(one.world ?? client);
  if (opened === undefined) throw new Error(`${client} was not started`);
  return runCase(one, { stand, client, open: opened, session });
};

test('every case is as the schema says, is in the file of its name, and has rules for its own tools only', () => {
  const schema = Compile(JSON.parse(readFileSync(`${folder}case.schema.json`, 'utf8')));
  for (const one of cases) {
    expect(schema.Check(one), `${one.name}: ${JSON.stringify(schema.Errors(one))}`).toBe(true);
    expect(JSON.parse(readFileSync(`${folder}cases/${one.name}.json`, 'utf8'))).toEqual(one);
    const documents = [one.policy.workspace ?? { tools: {} }, ...Object.values(one.policy.agentTypes ?? {})] as {
      readonly tools: object;
    }[];
    for (const tool of documents.flatMap(({ tools }) => Object.keys(tools))) expect(tool.startsWith(`${one.name}.`), tool).toBe(true);
  }
  expect(cases.length).toBeGreaterThanOrEqual(60);
});

describe.each(clients)('%s', (client) => {
  const applies = ({ skip }: Case): boolean => skip?.[client] === undefined;
  for (const one of cases.filter(applies)) test.concurrent(one.name, async () => expect(await problemsOf(one, client)).toEqual([]));

  test('a case that does not apply says why', () => {
    for (const { name, skip } of cases.filter((one) => !applies(one))) expect(skip?.[client]?.length, name).toBeGreaterThanOrEqual(10);
    expect(cases.filter(applies).length).toBeGreaterThanOrEqual(50);
  });

  test('a wrong expectation is found: of an answer, of an entry, of the number of entries', async () => {
    const one = cases.find(({ name }) => name === 'deny-with-reason');
    const [step] = one?.steps ?? [];
    if (one === undefined || step === undefined) throw new Error('the case must exist');
    const planted = (name: string, wrong: object) =>
      problemsOf({ ...one, steps: [{ ...step, ...wrong }] }, client, `${client} planted ${name}`);
    expect(await planted('answer', { answer: { decision: 'allow' } })).toMatchObject([expect.stringContaining('steps[0].answer.decision')]);
    expect(await planted('entry', { entry: { decision: 'allow' } })).toMatchObject([expect.stringContaining('steps[0].entry.decision')]);
    expect(await planted('no entry', { entry: null })).toMatchObject([expect.stringContaining('0 entries are expected')]);
  });
});
