// What keys that are not valid cost: after 10 of a network in a minute, no look-up in the database, while each valid key
// from there works. REST, hooks and gRPC share one count.
import { randomBytes } from 'node:crypto';
import { AppError } from '@tollgate/proto/contract';
import { afterAll, afterEach, beforeAll, beforeEach, expect, type MockInstance, test, vi } from 'vitest';
import { createKey } from '../../control-plane/access/operations/create-key.ts';
import { authenticate } from '../../control-plane/access/operations/authenticate.ts';
import { createKeyLookups } from '../../control-plane/access/operations/key-lookups.ts';
import { openSync, type Plane, startPlane } from '../support/plane.ts';

let plane: Plane;
let looked: MockInstance;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.close());
beforeEach(() => {
  // Each test begins with networks that no key has failed from.
  plane.clock.now = new Date(plane.clock.now.getTime() + 61_000);
  looked = vi.spyOn(plane.pool, 'query');
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** The queries about keys, since the test or the last `mockClear` began. */
const queries = (): readonly string[] => looked.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('api_key'));

const badKey = (): string => `gsk_acme_${randomBytes(20).toString('hex')}`;
const askWith = (key: string) => plane.ask('GET', '/api/v1/agents', { key });
const times = <T>(count: number, run: (at: number) => Promise<T>): Promise<readonly T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => run(at)));
const counted = (values: readonly unknown[]): Readonly<Record<string, number>> =>
  Object.fromEntries([...new Set(values)].map((value) => [String(value), values.filter((one) => one === value).length]));

/** How a key is refused that comes from this address. Null: it is accepted. */
const refusalOf = (key: string, address: string): Promise<string | null> =>
  authenticate(plane.deps, `Bearer ${key}`, address).then(
    () => null,
    (error: unknown) => (error instanceof AppError ? error.code : 'another error'),
  );

test('300 keys of one network that are not valid cost at most a turn of look-ups, and the rest is answered 429', async () => {
  const answers = await times(300, () => askWith(badKey()));
  expect(counted(answers.map(({ status }) => status))).toEqual({ 401: 10, 429: 290 });
  // 10, those of the turn in which the tenth failed, and one reading of the known keys.
  expect(queries().length).toBeLessThanOrEqual(10 + 32 + 1);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.headers['retry-after']).toBe('60');
  expect(refused?.body).toEqual({ error: expect.stringContaining('a valid key from it works') });
  looked.mockClear();
  expect(counted((await times(300, () => askWith(badKey()))).map(({ status }) => status))).toEqual({ 429: 300 });
  expect(queries()).toEqual([]);
});

test('valid keys of such a network work: one in use, one made here, and one made at another control plane', async () => {
  await times(20, () => askWith(badKey()));
  expect((await askWith(plane.owner)).status).toBe(200);
  const { key } = await plane.issueKey(['*']);
  expect((await askWith(key)).status).toBe(200);
  const elsewhere = { ...plane.deps, keyLookups: createKeyLookups({ pool: plane.pool, clock: plane.deps.clock }) };
  const actor = await authenticate(elsewhere, `Bearer ${plane.owner}`);
  const made = await createKey(elsewhere, actor, { name: 'x', scopes: ['*'] });
  // The watch on revisions calls this.
  plane.deps.keyLookups.outdate();
  expect((await askWith(made.key)).status).toBe(200);
  expect((await askWith(badKey())).status).toBe(429);
});

test('a minute later the keys of the network are looked up again', async () => {
  const { clock } = plane;
  await times(12, () => askWith(badKey()));
  const began = clock.now.getTime();
  clock.now = new Date(began + 59_999);
  expect(await askWith(badKey())).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  clock.now = new Date(began + 60_000);
  looked.mockClear();
  expect((await askWith(badKey())).status).toBe(401);
  expect(queries()).toHaveLength(1);
});

test('a key that is known and has expired or was revoked costs one look-up and one reading, not one for each request', async () => {
  const { clock } = plane;
  const expiresAt = new Date(clock.now.getTime() + 1_000).toISOString();
  const expiring = await plane.issueKey(['*'], { expiresAt });
  const revoked = await plane.issueKey(['*']);
  await times(10, () => askWith(badKey()));
  expect((await askWith(expiring.key)).status).toBe(200);
  clock.now = new Date(clock.now.getTime() + 1_000);
  expect((await plane.ask('DELETE', `/acme/admin/keys/${revoked.id}`)).status).toBe(200);
  looked.mockClear();
  for (let at = 0; at < 20; at += 1) expect((await askWith(expiring.key)).status).toBe(429);
  expect(queries().length).toBeLessThanOrEqual(3);
  looked.mockClear();
  for (let at = 0; at < 20; at += 1) expect((await askWith(revoked.key)).status).toBe(429);
  expect(queries()).toEqual([]);
});

test('networks are counted apart: IPv4 by /24, IPv6 by /64', async () => {
  const exhaust = (addressAt: (at: number) => string): Promise<readonly unknown[]> => times(10, (at) => refusalOf(badKey(), addressAt(at)));
  await exhaust((at) => `192.0.2.${at}`);
  expect(await refusalOf(badKey(), '192.0.2.200')).toBe('rate_limited');
  expect(await refusalOf(badKey(), '::ffff:192.0.2.201')).toBe('rate_limited');
  expect(await refusalOf(badKey(), '192.0.3.1')).toBe('unauthenticated');
  await exhaust((at) => `2001:db8:1:2:${at}::1`);
  expect(await refusalOf(badKey(), '2001:db8:1:2:ffff::1')).toBe('rate_limited');
  expect(await refusalOf(badKey(), '2001:db8:1:3::1')).toBe('unauthenticated');
});

test('a sender with many networks cannot cause more than 1,000 look-ups a minute, and valid keys work', async () => {
  const address = (at: number): string => `2001:db8:${(at >> 8).toString(16)}:${(at & 255).toString(16)}::1`;
  const refusals = await times(3_000, (at) => refusalOf(badKey(), address(at)));
  expect(counted(refusals)).toEqual({ unauthenticated: 3_000 });
  expect(queries().length).toBeLessThanOrEqual(1_000 + 32 + 1);
  looked.mockClear();
  await times(1_000, (at) => refusalOf(badKey(), address(10_000 + at)));
  expect(queries()).toEqual([]);
  expect(await refusalOf(plane.owner, '2001:db8:ffff::1')).toBeNull();
});

test('a sidecar with such a key is told that it is not valid, so it stops deciding; one with a valid key is served', async () => {
  await times(10, () => askWith(badKey()));
  looked.mockClear();
  const ends = await times(30, () => openSync(plane, badKey()).ended);
  expect(counted(ends.map((end) => end.split(':', 1)[0]))).toEqual({ UNAUTHENTICATED: 30 });
  expect(queries().length).toBeLessThanOrEqual(1);
  const { key } = await plane.issueKey(['sidecar.sync']);
  const wire = openSync(plane, key);
  wire.write({ hello: { sidecarId: 'x', bootId: 'x', form: 'FORM_PROCESS', schemaVersion: 1 } });
  expect(await wire.next()).toMatchObject({ message: 'snapshot' });
});

test('keys that fail at gRPC count for REST', async () => {
  await times(10, () => openSync(plane, badKey()).ended);
  expect((await askWith(badKey())).status).toBe(429);
});

test('a request without a key is not a failed key', async () => {
  for (let at = 0; at < 20; at += 1) expect((await plane.ask('GET', '/api/v1/agents', { key: null })).status).toBe(401);
  expect((await askWith(badKey())).status).toBe(401);
});

test('the table of networks has a bound: beyond it the network that failed longest ago is counted again', async () => {
  const keyLookups = createKeyLookups({ pool: plane.pool, clock: plane.deps.clock });
  const failing = (address: string): Promise<string> => keyLookups.find('no key', address).then(String, ({ code }: AppError) => code);
  for (let at = 0; at < 11; at += 1) await failing('10.255.255.1');
  expect(await failing('10.255.255.1')).toBe('rate_limited');
  for (let at = 0; at < 10_000; at += 1) await failing(`10.${at >> 8}.${at & 255}.1`);
  expect(await failing('10.255.255.1')).toBe('null');
});
