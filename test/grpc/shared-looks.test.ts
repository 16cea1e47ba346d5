// The check whether a key is still valid runs once for all streams of the key.
import { expect, test } from 'vitest';
import type { Actor } from '../../control-plane/access/rules/actor.ts';
import { shareLooks } from '../../control-plane/grpc/shared-looks.ts';

const actorOf = (hash: string): Actor => ({
  workspaceId: 1,
  slug: 'acme',
  epoch: 'e1',
  revision: 1,
  credential: { kind: 'key', hash, expiresAt: null },
  keyId: hash,
  onMember: false,
  sub: 'apikey:k',
  uid: null,
  memberUid: 'owner',
  role: 'owner',
  scopes: ['sidecar.sync'],
  pins: { tier: null, agent: null, client: null },
  expiresAt: null,
});

function createLooks() {
  const asked: string[] = [];
  const looks = { now: 0, stands: true, asked, look: (hash: string) => share(actorOf(hash)) };
  const share = shareLooks(
    (actor) => {
      asked.push(actor.keyId);
      return looks.stands ? Promise.resolve(actor) : Promise.resolve(null);
    },
    () => looks.now,
  );
  return looks;
}

test('ten thousand streams of one key cause one check a second, and streams of another key are checked separately', async () => {
  const looks = createLooks();
  await Promise.all(Array.from({ length: 10_000 }, () => looks.look('a')));
  await looks.look('b');
  expect(looks.asked).toEqual(['a', 'b']);
});

test('after a second the key is checked again, and a revoked key is no longer valid', async () => {
  const looks = createLooks();
  expect(await looks.look('a')).not.toBeNull();
  looks.stands = false;
  looks.now = 999;
  expect(await looks.look('a')).not.toBeNull();
  looks.now = 1_000;
  expect(await looks.look('a')).toBeNull();
});
