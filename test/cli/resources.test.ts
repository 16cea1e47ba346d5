import { scopes } from '@tollgate/proto/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRest, operatorKey, type Rest } from '../control-plane/rest.ts';
import { createCli, jsonOf, run } from './cli.ts';

let rest: Rest;
let tollgate: ReturnType<typeof createCli>;
beforeAll(async () => {
  rest = await createRest();
  tollgate = createCli(rest.origin, rest.owner, { now: rest.clock.now });
});
afterAll(() => rest.close());

const keyLine = /^gsk_[a-z0-9-]+_[A-Za-z0-9]{32,64}\n$/;
const operator = () => ({ env: { TOLLGATE_OPERATOR_KEY: operatorKey } });

describe('workspace', () => {
  test("create prints the owner's key alone on standard output, list shows the workspace, delete removes it", async () => {
    const made = await tollgate(['workspace', 'create', 'fresh', '--owner-uid', 'fay', '--owner-email', 'fay@fresh.test'], operator());
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(keyLine), err: expect.stringContaining('shown only now') });
    expect((await run(['members', 'list'], { env: { TOLLGATE_URL: rest.origin, TOLLGATE_KEY: made.out.trim() } })).out).toContain(
      'fay@fresh.test',
    );

    expect((await tollgate(['workspace', 'list'], operator())).out).toMatch(/^slug.*\n(.*\n)*fresh /);
    expect(jsonOf(await tollgate(['workspace', 'list', '--json'], operator()))).toMatchObject({ ok: true });

    expect(await tollgate(['workspace', 'delete', 'fresh', '--confirm', 'fresh'], operator())).toMatchObject({ code: 0, out: '' });
    expect((await tollgate(['workspace', 'list'], operator())).out).not.toContain('fresh');
  });

  test('delete requires the slug again: from the option, or from the person at the terminal', async () => {
    await tollgate(['workspace', 'create', 'doomed', '--owner-uid', 'dan', '--owner-email', 'dan@doomed.test', '--json'], operator());
    const words = ['workspace', 'delete', 'doomed'];
    expect(await tollgate(words, operator())).toMatchObject({ code: 1, err: expect.stringContaining('--confirm doomed') });
    expect(await tollgate([...words, '--confirm', 'other'], operator())).toMatchObject({
      code: 1,
      err: expect.stringContaining('nothing is removed'),
    });
    expect(await tollgate(words, { ...operator(), prompts: { text: async () => 'dooomed' } })).toMatchObject({ code: 1 });
    expect((await tollgate(['workspace', 'list'], operator())).out).toContain('doomed');
    expect(await tollgate(words, { ...operator(), prompts: { text: async () => 'doomed' } })).toMatchObject({ code: 0 });
  });

  test('without the operator key it says which variable is missing, and a wrong one is named and never shown', async () => {
    expect(await tollgate(['workspace', 'list'])).toMatchObject({ code: 1, err: expect.stringContaining('set TOLLGATE_OPERATOR_KEY') });
    const wrong = await tollgate(['workspace', 'list'], { env: { TOLLGATE_OPERATOR_KEY: 'wrong-wrong-wrong-wrong-wrong-wrong' } });
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('does not accept TOLLGATE_OPERATOR_KEY') });
    expect(wrong.err).not.toContain('wrong-wrong');
  });
});

describe('keys', () => {
  test('a new key is printed alone on standard output, and has the requested properties', async () => {
    const made = await tollgate([
      'keys',
      'create',
      '--scope',
      'govern',
      '--scope',
      'sidecar.sync',
      'edge',
      '--tier',
      'api',
      '--agent',
      'bot',
      '--client',
      'c',
      '--expires',
      '30d',
    ]);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(keyLine) });
    expect(made.err).not.toContain(made.out.trim());
    const listed = jsonOf(await tollgate(['keys', 'list', '--json']));
    expect(listed['keys']).toContainEqual(
      expect.objectContaining({
        name: 'edge',
        scopes: ['govern', 'sidecar.sync'],
        tier: 'api',
        agent: 'bot',
        client: 'c',
        expiresAt: new Date(rest.clock.now.getTime() + 30 * 86_400_000).toISOString(),
      }),
    );
    const table = await tollgate(['keys', 'list']);
    expect(table.out).toMatch(/edge +\w{4} +\(service\) +govern, sidecar\.sync +api, c, bot +2026-07-25/);
    expect(table.out).not.toContain(made.out.trim());
  });

  test('rotate gives a new secret and stops the old one, revoke ends the key', async () => {
    const made = jsonOf(await tollgate(['keys', 'create', 'turning', '--scope', '*', '--json']));
    const id = String(made['id']);
    const as = (key: unknown) => run(['keys', 'list'], { env: { TOLLGATE_URL: rest.origin, TOLLGATE_KEY: String(key) } });
    expect(await as(made['key'])).toMatchObject({ code: 0 });
    const rotated = await tollgate(['keys', 'rotate', id]);
    expect(rotated).toMatchObject({ code: 0, out: expect.stringMatching(keyLine) });
    expect(await as(made['key'])).toMatchObject({ code: 1, err: expect.stringContaining('does not accept TOLLGATE_KEY') });
    expect(await as(rotated.out.trim())).toMatchObject({ code: 0 });
    expect(await tollgate(['keys', 'revoke', id])).toMatchObject({ code: 0, out: '', err: `key ${id} is revoked\n` });
    expect(await as(rotated.out.trim())).toMatchObject({ code: 1 });
  });

  test('an unknown scope is refused with the list of scopes, an invalid expiry with an example', async () => {
    const unknown = await tollgate(['keys', 'create', 'x', '--scope', 'everything']);
    expect(unknown.code).toBe(1);
    for (const scope of scopes) expect(unknown.err).toContain(scope);
    expect(await tollgate(['keys', 'create', 'x', '--scope', '*', '--expires', 'soon'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--expires must be a time such as 15m, 24h or 30d'),
    });
    expect(await tollgate(['keys', 'create', 'x'])).toMatchObject({ code: 1, err: expect.stringContaining('--scope') });
  });

  test('an id that does not exist is not found', async () => {
    expect(await tollgate(['keys', 'revoke', '00000000-0000-4000-8000-000000000000'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^tollgate: .*\n {2}the request was DELETE \/acme\/admin\/keys/),
    });
  });
});

describe('members', () => {
  test('are added, listed, changed and removed', async () => {
    expect(await tollgate(['members', 'add', 'ann', '--email', 'ann@acme.test', '--role', 'member'])).toMatchObject({
      code: 0,
      out: '',
      err: 'ann is a member, as member\n',
    });
    expect(await tollgate(['members', 'set', 'ann', '--role', 'admin', '--email', 'ann@new.test'])).toMatchObject({ code: 0 });
    expect((await tollgate(['members', 'list'])).out).toMatch(/ann +admin +ann@new\.test/);
    expect(jsonOf(await tollgate(['members', 'list', '--json']))['members']).toContainEqual(
      expect.objectContaining({ uid: 'ann', role: 'admin' }),
    );
    expect(jsonOf(await tollgate(['members', 'remove', 'ann', '--json']))).toMatchObject({ ok: true, revision: expect.any(Number) });
    expect((await tollgate(['members', 'list'])).out).not.toContain('ann@');
  });

  test('a refusal of the control plane is printed in its words', async () => {
    expect(await tollgate(['members', 'add', 'owner', '--email', 'a@b.test', '--role', 'member'])).toMatchObject({ code: 1 });
    expect(await tollgate(['members', 'remove', 'owner'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('must have at least one owner'),
    });
    expect(await tollgate(['members', 'set', 'owner'])).toMatchObject({ code: 1, err: expect.stringContaining('give --role or --email') });
  });

  test('a key that lacks the scope is reported with its source', async () => {
    const reader = await rest.keyOf('admin', ['agents.read'], 'reader');
    const refused = await run(['members', 'list'], { env: { TOLLGATE_URL: rest.origin, TOLLGATE_KEY: reader } });
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining('the control plane does not permit this request with TOLLGATE_KEY'),
    });
  });
});

describe('the state of the workspace', () => {
  test('freeze and unfreeze work, and events record them', async () => {
    expect(await tollgate(['freeze'])).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^acme is frozen: every call is denied, revision \d+\n$/),
    });
    expect((await tollgate(['workspace', 'list'], operator())).out).toMatch(/acme +frozen/);
    expect(jsonOf(await tollgate(['unfreeze', '--json']))).toMatchObject({ ok: true, revision: expect.any(Number) });
    const events = await tollgate(['events', '--limit', '2']);
    expect(events).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^at .*revision.*\n.*unfreeze.*\n.*freeze/),
      err: expect.stringContaining('--cursor'),
    });
    const [, cursor = ''] = /--cursor (\S+)/.exec(events.err) ?? [];
    expect((await tollgate(['events', '--limit', '2', '--cursor', cursor])).out).not.toContain('unfreeze');
  });

  test('agents and models', async () => {
    expect(await tollgate(['agents', 'list'])).toMatchObject({ code: 0, out: '', err: 'there is no agent\n' });
    const id = await rest.createAgent({ name: 'triage', enabledTools: ['a', 'b'] });
    expect((await tollgate(['agents', 'list'])).out).toMatch(new RegExp(`${id} +triage +demo/echo +2`));
    expect(jsonOf(await tollgate(['agents', 'list', '--json']))).toMatchObject({ profiles: [{ name: 'triage' }] });
    expect((await tollgate(['models'])).out).toMatch(/^model .* deprecated\n(.*\n)*demo\/echo /);
    expect(jsonOf(await tollgate(['models', '--json']))).toMatchObject({ ok: true, models: expect.any(Array) });
  });
});
