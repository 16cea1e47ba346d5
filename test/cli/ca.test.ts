// `tollgate ca`: prints only the bundle to standard output, so that it may be piped to where sidecars read it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { createCli, jsonOf } from './cli.ts';

const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
let rest: Rest;
let bare: Rest;
beforeAll(async () => {
  rest = await createRest({ authorities: async () => pem });
  bare = await createRest();
});
afterAll(async () => {
  await rest.close();
  await bare.close();
});

test('prints the authorities as PEM, and nothing else', async () => {
  expect(await createCli(rest.origin, rest.owner)(['ca'])).toEqual({ code: 0, out: pem, err: '' });
  expect(jsonOf(await createCli(rest.origin, rest.owner)(['--json', 'ca']))).toEqual({ ok: true, authorities: pem });
});

test('where there are no authorities it says so', async () => {
  const { code, out, err } = await createCli(bare.origin, bare.owner)(['ca']);
  expect([code, out]).toEqual([1, '']);
  expect(err).toContain('there are no authorities here');
});
