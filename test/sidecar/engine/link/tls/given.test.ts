import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { followGiven } from '../../../../../sidecar/engine/link/tls/given.ts';
import { issue, makeAuthority, type Pair } from '../../../../support/authorities.ts';
import { createManualClock } from '../../../../support/manual-clock.ts';
import { temporaryFolder } from '../../../../support/spools.ts';

const authority = makeAuthority('given');

function put(folder: string, { certificate, key }: Pair): void {
  for (const [name, text] of Object.entries({ 'tls.crt': certificate, 'tls.key': key, 'ca.crt': authority.certificate }))
    writeFileSync(join(folder, name), text);
}

async function follow(folder: string) {
  const clock = createManualClock(Date.now());
  const warned: object[] = [];
  const credentials = await followGiven({ clock, log: { info: () => undefined, warn: (fields) => void warned.push(fields) } }, folder);
  onTestFinished(() => credentials.close());
  /** The files are checked again. */
  const reread = async (): Promise<void> => {
    clock.advance(30_000);
    while (clock.waits.length === 0) await new Promise((done) => setImmediate(done));
  };
  return { credentials, warned, reread, clock };
}

test('a file that is renewed from outside is used after the next check', async () => {
  const folder = temporaryFolder();
  const [first, second] = [issue(authority), issue(authority)];
  put(folder, first);
  const { credentials, reread } = await follow(folder);
  expect(credentials.current?.own).toEqual(first);
  put(folder, second);
  await reread();
  expect(credentials.current?.own).toEqual(second);
  expect(credentials.problem).toBeNull();
});

test('a key that does not match the certificate is not used, and reported once', async () => {
  const folder = temporaryFolder();
  const first = issue(authority);
  put(folder, first);
  const { credentials, reread, warned } = await follow(folder);
  put(folder, { ...issue(authority), key: issue(authority).key });
  await reread();
  await reread();
  expect(credentials.current?.own).toEqual(first);
  expect(credentials.problem).toBe(
    `in ${folder}, tls.crt must be a valid certificate, and tls.key must be the private key of this certificate`,
  );
  expect(warned).toEqual([{ problem: credentials.problem }]);
  put(folder, first);
  await reread();
  expect(credentials.problem).toBeNull();
});

test('files that come after the start are found', async () => {
  const folder = temporaryFolder();
  const { credentials, reread } = await follow(folder);
  expect(credentials.problem).toBe(`${join(folder, 'tls.crt')} cannot be read (ENOENT)`);
  put(folder, issue(authority));
  rmSync(join(folder, 'ca.crt'));
  await reread();
  expect(credentials.problem).toBe(`${join(folder, 'ca.crt')} cannot be read (ENOENT)`);
  put(folder, issue(authority));
  await reread();
  expect(credentials.problem).toBeNull();
  expect(credentials.current).not.toBeNull();
});

test('a certificate that was not renewed is reported as expired', async () => {
  const folder = temporaryFolder();
  put(folder, issue(authority));
  const { credentials, reread, clock } = await follow(folder);
  clock.advance(0);
  expect(credentials.problem).toBeNull();
  for (let minutes = 0; minutes <= 60; minutes += 0.5) await reread();
  expect(credentials.problem).toMatch(/^the certificate expired at \d{4}-/);
});
