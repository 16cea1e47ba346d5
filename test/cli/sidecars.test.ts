import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRoster } from '../../control-plane/sidecars/operations/roster.ts';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { createCli, jsonOf } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterAll(() => rest.close());

/** `newest`: the newest revision of the workspace. */
async function connect() {
  const { rows } = await rest.pool.query<{ id: string; revision: string; epoch: string }>(
    "select workspace.id, revision, epoch from workspace cross join deployment where slug = 'acme'",
  );
  const { id = '0', revision = '0', epoch = '' } = rows[0] ?? {};
  const roster = createRoster({ ...rest.deps, wallTime: Date.now, now: () => 0, log: { warn: () => undefined } }, 'plane-1');
  const enters = (sidecarId: string, number: number) =>
    roster.enters({
      workspaceId: Number(id),
      keyId: 'key-1',
      sidecarId,
      bootId: `${sidecarId}-boot`,
      form: 'library',
      held: { epoch, number },
      capabilities: ['deltas'],
    });
  return { roster, enters, newest: Number(revision) };
}

test('a workspace without sidecars is reported on standard error', async () => {
  expect(await tollgate(['sidecars'])).toMatchObject({ code: 0, out: '', err: expect.stringContaining('no sidecar has connected yet') });
});

test('each sidecar is a row, with its revision, how far it is behind and its state; --json is the whole answer', async () => {
  await tollgate(['freeze']);
  const { roster, enters, newest } = await connect();
  enters('edge-a', newest).says({
    spoolRecords: 3,
    spoolBytes: 700,
    spoolAgeMs: 1_500,
    unrecorded: 1,
    outageDecisions: 2,
    refusedSpools: 1,
    refusedRecords: 4,
    version: '0.1.0',
    clock: { aheadSeconds: -3_600 },
  });
  enters('edge-b', newest - 1).refused('hash_mismatch', 'the entries hash as something else');
  const left = enters('edge-c', newest);
  await roster.write();
  left.left();
  await roster.write();
  const { code, out, err } = await tollgate(['sidecars', 'list']);
  expect({ code, err }).toEqual({ code: 0, err: `the newest revision is ${newest}\n` });
  const [head, a, b, c, ...more] = out.trimEnd().split('\n');
  expect(head).toMatch(/^id +form +version +connected +revision +behind +spool +unrecorded +outage +clock +lacks +not taken +refused$/);
  expect(a).toMatch(
    new RegExp(`^edge-a +library +0\\.1\\.0 +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ +${newest} +0 +3 +1 +2 +3600 s behind +1$`),
  );
  expect(b).toMatch(new RegExp(`^edge-b +library +\\d{4}-.*Z +${newest - 1} +1 \\(\\d+ s\\) +hash_mismatch$`));
  expect(c).toMatch(/^edge-c +library +no, seen \d{4}-/);
  expect(more).toEqual([]);
  const whole = jsonOf(await tollgate(['sidecars', '--json']));
  expect(whole).toMatchObject({
    ok: true,
    revision: newest,
    sidecars: [{ id: 'edge-a' }, { id: 'edge-b' }, { id: 'edge-c' }],
  });
  await roster.close();
});

test('sidecars of more than one page are all shown once', async () => {
  const { roster, enters, newest } = await connect();
  const names = Array.from({ length: 1_003 }, (_, at) => `many-${String(at).padStart(4, '0')}`);
  const shown = (answer: Record<string, unknown>): readonly unknown[] =>
    (answer['sidecars'] as readonly { readonly id: string }[]).map(({ id }) => id).filter((id) => id.startsWith('many-'));
  for (const name of names) enters(name, newest);
  await roster.write();
  const { out } = await tollgate(['sidecars']);
  expect(out.match(/^many-\d{4}/gm)).toEqual(names);
  const whole = jsonOf(await tollgate(['sidecars', '--json']));
  expect(shown(whole)).toEqual(names);
  expect(whole).not.toHaveProperty('next');
  await roster.close();
});

test('keys that only libraries use are named, and can be narrowed to what libraries need', async () => {
  const { roster, newest } = await connect();
  const { rows } = await rest.pool.query<{ id: string }>("select id from workspace where slug = 'acme'");
  const make = async (name: string, ...scopes: readonly string[]): Promise<string> =>
    String(jsonOf(await tollgate(['keys', 'create', name, ...scopes.flatMap((scope) => ['--scope', scope]), '--json']))['id']);
  const follow = (keyId: string, form: 'process' | 'library'): void =>
    void roster.enters({
      workspaceId: Number(rows[0]?.id),
      keyId,
      sidecarId: `of-${keyId}`,
      bootId: keyId + form,
      form,
      held: { epoch: 'e', number: newest },
      capabilities: ['deltas'],
    });
  const library = await make('library', 'sidecar.sync', 'govern');
  const both = await make('both', 'sidecar.sync');
  const narrow = await make('narrow', 'sidecar.library');
  await make('unused', 'sidecar.sync');
  for (const key of [library, both, narrow]) follow(key, 'library');
  follow(both, 'process');
  await roster.write();
  const named = async (): Promise<readonly string[]> =>
    [...(await tollgate(['keys', 'list'])).err.matchAll(/key (\w+) \((\w+)\) is used only by libraries/g)].map(([, , name]) => name ?? '');
  expect(await named()).toEqual(['library']);
  expect((await tollgate(['doctor'])).out).toContain(`tollgate keys narrow ${library}`);
  expect(await tollgate(['keys', 'narrow', library])).toMatchObject({
    code: 0,
    out: '',
    err: `key ${library} has the scopes sidecar.library, govern now; its secret is unchanged\n`,
  });
  expect(await named()).toEqual([]);
  expect(await tollgate(['keys', 'narrow', library])).toMatchObject({
    code: 1,
    err: expect.stringContaining('does not have the scope "sidecar.sync"'),
  });
  expect(await tollgate(['keys', 'narrow', library, '--scope', 'govern'])).toMatchObject({ code: 0 });
  expect(await tollgate(['keys', 'narrow', 'nothing'])).toMatchObject({ code: 1, err: expect.stringContaining('there is no key nothing') });
  await roster.close();
});

test('a key without permission is refused with the missing scope', async () => {
  const key = await rest.keyOf('owner', ['govern']);
  expect(await tollgate(['sidecars'], { env: { TOLLGATE_KEY: key } })).toMatchObject({
    code: 1,
    err: expect.stringContaining('policies.read'),
  });
});
