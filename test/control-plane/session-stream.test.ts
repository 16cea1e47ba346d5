// The stream of a session: what the workspace is at the start and after each change, for as long as the credential is valid.
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { authenticate, authenticateRequest } from '../../control-plane/access/operations/authenticate.ts';
import { followWorkspace } from '../../control-plane/access/operations/follow-workspace.ts';
import { watchRevisions, type RevisionWatch } from '../../control-plane/publish/store/watch-revisions.ts';
import { checkBlock, readBlocks } from './live.ts';
import { createRest, field, type Rest } from './rest.ts';

let rest: Rest;
let watch: RevisionWatch;
let leave: (() => Promise<void>)[] = [];
beforeEach(async () => {
  rest = await createRest();
  watch = watchRevisions({ pool: rest.pool, connection: rest.connection, log: { warn: () => undefined } }, rest.revisions);
});
afterEach(async () => {
  for (const one of leave) await one();
  leave = [];
  await watch.close();
  await rest.close();
});

const url = '/acme/admin/session/stream';

async function follow(headers: Readonly<Record<string, string>>) {
  // After a stream that it left, the client connects again and sends nothing, for which the server would wait.
  const dispatcher = new Agent();
  const { statusCode, headers: answered, body } = await request(rest.origin + url, { headers, dispatcher, bodyTimeout: 0 });
  expect([statusCode, answered['content-type']]).toEqual([200, 'text/event-stream']);
  body.on('error', () => undefined);
  leave.push(() => dispatcher.destroy());
  const blocks = readBlocks(body);
  return async () => {
    const block = (await blocks.next()).value ?? null;
    if (block !== null) checkBlock(rest, url, block);
    return block;
  };
}

const keyed = (key = rest.owner) => follow({ authorization: `Bearer ${key}` });

test('the state comes at once, and again after each change of the workspace', async () => {
  const next = await keyed();
  expect(await next()).toMatchObject({ event: 'workspace', data: { frozen: false, revision: expect.any(Number) } });
  const { body } = await rest.ask('POST', '/acme/admin/freeze');
  const { revision } = body as { readonly revision: number };
  expect(await next()).toMatchObject({ event: 'workspace', data: { frozen: true, revision } });
  await rest.ask('POST', '/acme/admin/unfreeze');
  expect(await next()).toMatchObject({ data: { frozen: false, revision: revision + 1 } });
});

test('a change that another control plane of the database makes is seen, and one of another workspace is not', async () => {
  const next = await keyed();
  await next();
  await rest.ask('POST', '/other/admin/freeze', { key: rest.other });
  await rest.pool.query(`update workspace set revision = revision + 10, raised_at = now(), frozen = true where slug = 'acme'`);
  expect(await next()).toMatchObject({ data: { frozen: true } });
});

test('any key may follow, and so may a session', async () => {
  const key = field(await rest.ask('POST', '/acme/admin/keys', { body: { name: 'x', scopes: ['govern'] } }), 'key');
  expect(await (await keyed(key))()).toMatchObject({ event: 'workspace' });
  const opened = await rest.ask('POST', '/acme/admin/session');
  const cookie = String(opened.headers['set-cookie']).split(';', 1)[0] ?? '';
  expect(await (await follow({ cookie }))()).toMatchObject({ event: 'workspace' });
  expect((await rest.ask('GET', url, { key: null })).status).toBe(401);
  expect((await rest.ask('GET', url, { key: rest.other })).status).toBe(403);
});

test('the stream ends when its key is revoked, and says so', async () => {
  const made = await rest.ask('POST', '/acme/admin/keys', { body: { name: 'x', scopes: ['govern'] } });
  const next = await keyed(field(made, 'key'));
  await next();
  expect((await rest.ask('DELETE', `/acme/admin/keys/${field(made, 'id')}`)).status).toBe(200);
  expect(await next()).toMatchObject({ comment: 'ended: the key was revoked or has expired' });
  expect(await next()).toBeNull();
});

const quick = { keepAliveMs: 0, lookMs: 10, atLeastMs: 1 };

test('it ends with its session, which leaves no change of the workspace, and when its time is over', async () => {
  const opened = await rest.ask('POST', '/acme/admin/session');
  const cookie = String(opened.headers['set-cookie']).split(';', 1)[0]?.split('=')[1];
  const actor = await authenticateRequest(rest.deps, { authorization: undefined, cookie, csrf: undefined, method: 'GET', address: '' });
  const items = followWorkspace(rest.deps, actor, new AbortController().signal, quick);
  expect((await items.next()).value).toMatchObject({ kind: 'workspace' });
  // Nothing has changed, so that the connection is only kept alive.
  expect((await items.next()).value).toEqual({ kind: 'note', text: 'alive' });
  rest.clock.now = new Date(rest.clock.now.getTime() + 13 * 3_600_000);
  expect((await items.next()).value).toEqual({ kind: 'note', text: 'ended: the session was revoked or has expired' });
  expect((await items.next()).done).toBe(true);
});

test('it ends when the workspace is removed', async () => {
  const actor = await authenticate(rest.deps, `Bearer ${rest.other}`);
  const items = followWorkspace(rest.deps, actor, new AbortController().signal, quick);
  await items.next();
  await rest.pool.query(`delete from workspace where slug = 'other'`);
  expect((await items.next()).value).toMatchObject({ kind: 'note', text: expect.stringContaining('ended: ') });
});
