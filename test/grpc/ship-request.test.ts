// The reader of Ship messages, compared with the generated one: for every message they read the same, and bytes that are
// no message are rejected before anything of them is used.
import { auditService, type ShipRequest } from '@tollgate/proto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeShipRequest } from '../../control-plane/grpc/ship-request.ts';

const sequence = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const record = fc.oneof(
  fc.record({ sequence, entry: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)) }),
  fc.record({ sequence, lost: fc.record({ last: sequence, reason: fc.string({ unit: 'grapheme', maxLength: 200 }) }) }),
);
const message = fc.record({
  spoolId: fc.string({ unit: 'grapheme', maxLength: 40 }),
  spoolSecret: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  workspaceId: fc.string({ maxLength: 40 }),
  canWait: fc.boolean(),
  records: fc.array(record, { maxLength: 20 }),
});

const encode = (request: ShipRequest): Buffer => auditService.Ship.requestSerialize(request);

test('a batch is read as the generated reader reads it, as often as one likes', () => {
  fc.assert(
    fc.property(message, (batch) => {
      const encoded = encode({ batch });
      const read = decodeShipRequest(encoded).batch;
      const generated = auditService.Ship.requestDeserialize(encoded).batch;
      const { records: ofGenerated = [], ...fields } = generated ?? {};
      expect(read).toMatchObject(fields);
      const wanted = ofGenerated.map(({ sequence: at, entry, lost }) => ({
        sequence: at,
        content: lost == null ? { entry } : { lost: lost.reason, last: lost.last },
      }));
      for (let time = 0; time < 2; time += 1) expect([...(read?.records ?? [])]).toEqual(wanted);
      expect(read?.records.length).toBe(wanted.length);
    }),
  );
});

test('a hello is read', () => {
  const hello = { sidecarId: 'sidecar-1', capabilities: ['leases'] };
  expect(decodeShipRequest(encode({ hello }))).toMatchObject({ hello });
});

test('a record without content has the sequence 0, and a negative sequence is not a safe integer', () => {
  const read = decodeShipRequest(encode({ batch: { records: [{ sequence: 4 }, { sequence: -3, entry: Buffer.from('{}') }] } }));
  const sequences = [...(read.batch?.records ?? [])].map((one) => one.sequence);
  expect(sequences[0]).toBe(0);
  expect(Number.isSafeInteger(sequences[1])).toBe(false);
});

test('bytes that end within a field are rejected', () => {
  const batch = { spoolId: 'a'.repeat(32), records: [{ sequence: 300, lost: { last: 301, reason: 'torn' } }] };
  const encoded = encode({ batch });
  for (let length = 1; length < encoded.length; length += 1)
    expect(() => decodeShipRequest(encoded.subarray(0, length)), `${length} bytes`).toThrow();
  const group = Buffer.from([0x12, 1, 0x0b]);
  expect(() => decodeShipRequest(group)).toThrow(/wire type 3/);
});
