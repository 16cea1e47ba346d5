import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createNotary, openNotaryKey, readNotaryKey } from '../../control-plane/audit/operations/notary.ts';
import { temporaryFolder } from '../support/spools.ts';

const opened = (path: string) => {
  const found = openNotaryKey(path);
  if ('problem' in found) throw new Error(found.problem);
  return found.key;
};

test('a key is made at the first start, readable for its owner only, and is the same at every later start', () => {
  const path = join(temporaryFolder(), 'data', 'checkpoint-key.pem');
  const key = opened(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(opened(path).equals(key)).toBe(true);
  const { publicKey, sign } = createNotary(key, 90);
  expect(publicKey).toHaveLength(32);
  expect(verify(null, Buffer.from('text'), createPublicKey(key), sign('text'))).toBe(true);
});

test('an invalid key, or one that everybody can read, is refused with the reason', () => {
  const path = join(temporaryFolder(), 'key.pem');
  expect(readNotaryKey(path)).toEqual({ problem: `${path} does not exist; it must contain the checkpoint key` });
  opened(path);
  const pem = readFileSync(path);
  chmodSync(path, 0o644);
  expect(openNotaryKey(path)).toEqual({ problem: `${path} contains the checkpoint key, and every user can read it; set its mode to 600` });
  chmodSync(path, 0o640);
  expect(readNotaryKey(path)).toHaveProperty('key');
  for (const wrong of [
    '',
    'no pem',
    pem.subarray(0, 40),
    generateKeyPairSync('ed448').privateKey.export({ format: 'pem', type: 'pkcs8' }),
  ]) {
    writeFileSync(path, wrong);
    expect(readNotaryKey(path)).toEqual({ problem: `${path} must hold an Ed25519 private key as PEM (PKCS #8)` });
  }
});

test('a path that is no file is refused as that', () => {
  const path = join(temporaryFolder(), 'folder');
  mkdirSync(path, { mode: 0o700 });
  expect(readNotaryKey(path)).toEqual({ problem: `${path} is not a file; it must contain the checkpoint key` });
});

test('a key that is a link, as secrets are mounted, is followed', () => {
  const folder = temporaryFolder();
  const key = opened(join(folder, 'real.pem'));
  symlinkSync(join(folder, 'real.pem'), join(folder, 'link.pem'));
  expect(opened(join(folder, 'link.pem')).equals(key)).toBe(true);
});
