// What the operator's keys seal: which of them open it, and what no key opens.
import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSealer } from '../../control-plane/tool-servers/store/sealed.ts';

const sealerOf = (...keys: readonly string[]) => createSealer(keys, randomBytes);
const key = fc.string({ minLength: 32, maxLength: 40 });
const keys = fc.uniqueArray(key, { minLength: 2, maxLength: 5 });
/** Whole characters, as in JSON and PEM. */
const text = fc.string({ unit: 'binary', maxLength: 60 });
const place = fc.string({ maxLength: 20 });

test('a sealed text is opened by the key that sealed it, at any position in the list', () => {
  fc.assert(
    fc.property(keys, text, place, fc.nat(), (all, secret, where, at) => {
      const [first = '', ...others] = all;
      const sealed = sealerOf(first, ...others).seal(secret, where);
      const list = others.toSpliced(at % (others.length + 1), 0, first);
      expect(sealerOf(first).open(sealed, where)).toBe(secret);
      expect(sealerOf(...list).open(sealed, where)).toBe(secret);
      expect(sealerOf(...others).open(sealed, where)).toBe(null);
    }),
  );
});

test('a resealed text opens by the first key alone; what the first key sealed or resealed is unchanged', () => {
  fc.assert(
    fc.property(keys, text, place, ([old = '', ...others], secret, where) => {
      const sealed = sealerOf(old).seal(secret, where);
      const resealed = sealerOf(...others, old).reseal(sealed, where);
      if (resealed === null) throw new Error('it was not sealed again');
      const [first = ''] = others;
      expect(sealerOf(first).open(resealed, where)).toBe(secret);
      expect(sealerOf(old).open(resealed, where)).toBe(null);
      expect(resealed.subarray(0, 12)).toEqual(sealed.subarray(0, 12));
      expect(sealerOf(...others, old).reseal(resealed, where)).toBe(resealed);
      expect(sealerOf(old, ...others).reseal(sealed, where)).toBe(sealed);
      // Any sealer with these keys gets the same result, and resealing back restores the original.
      expect(sealerOf(first, old).reseal(sealed, where)).toEqual(resealed);
      expect(sealerOf(old, first).reseal(resealed, where)).toEqual(sealed);
    }),
  );
});

test('by other keys, for another place, changed in any byte or cut anywhere, it is neither opened nor resealed', () => {
  fc.assert(
    fc.property(keys, text, place, fc.nat(), fc.integer({ min: 1, max: 255 }), ([old = '', ...others], secret, where, at, change) => {
      const sealed = sealerOf(old).seal(secret, where);
      const changed = Uint8Array.from(sealed, (byte, index) => (index === at % sealed.length ? byte ^ change : byte));
      const cut = sealed.subarray(0, at % sealed.length);
      const both = sealerOf(...others, old);
      for (const [sealer, bytes, asked] of [
        [sealerOf(...others), sealed, where],
        [both, sealed, `${where}!`],
        [both, changed, where],
        [both, cut, where],
      ] as const) {
        expect(sealer.open(bytes, asked)).toBe(null);
        expect(sealer.reseal(bytes, asked)).toBe(null);
      }
    }),
  );
});

test('what the first release sealed is opened', () => {
  const secret = 'k'.repeat(32);
  const derived = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate sealed secrets', 32));
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', derived, nonce).setAAD(Buffer.from('here'));
  const ciphertext = Buffer.concat([cipher.update('a token', 'utf8'), cipher.final()]);
  const sealed = Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
  expect(sealerOf('q'.repeat(32), secret).open(sealed, 'here')).toBe('a token');
});

test('without a key there is no sealer', () => {
  expect(() => sealerOf()).toThrow('createSealer must receive at least one key');
});
