// The digest of an answer that is not redacted: the same for the same bytes, however they arrive.
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { bytesLook } from '../../../../sidecar/doors/http/look.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

test.each([[[]], [['answer']], [['ans', 'wer']], [['', 'ans', '', 'wer']]])('the digest of %j is that of all its bytes', (pieces) => {
  const look = bytesLook();
  const out = pieces.map((piece) => Buffer.from(look.push(Buffer.from(piece))).toString());
  expect(out).toEqual(pieces);
  expect(look.end()).toHaveLength(0);
  const told = { digest: sha256(pieces.join('')), findings: [] };
  expect([look.told(), look.told()]).toEqual([told, told]);
});
