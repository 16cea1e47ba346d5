// The links of a workspace's chain. Each item of the log, an entry or a gap, has a digest of its number and its canonical
// JSON as an export shows it; the value after it is a hash over the value before, its time and that digest. So the value after any
// item stands for everything up to it, and an item that is out of retention can be left out by its time and digest alone.
// Every input of a hash is text, a line for each part, the first saying what it is. Values and digests are 64 hex digits.
import { hash } from 'node:crypto';
import { canonicalOf } from './canonical.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** `n`: its place, so that what is moved shows where it is now. */
export const digestOf = (n: number, canonical: string): string => sha256(`${n}\n${canonical}`);

/** Before the first item. `beginsAfter`: items that were there before there was a chain. */
export const valueBefore = (origin: string, beginsAfter: number): string => sha256(`tollgate audit begin\n${origin}\n${beginsAfter}\n`);

/** `ts`: when it was decided, as an export shows it. */
export const valueAfterEntry = (before: string, ts: string, digest: string): string =>
  sha256(`tollgate audit entry\n${before}\n${ts}\n${digest}\n`);

export const valueAfterGap = (before: string, receivedAt: string, digest: string): string =>
  sha256(`tollgate audit gap\n${before}\n${receivedAt}\n${digest}\n`);

/** Records of a spool that never arrived, or could not be read back. */
export interface ShownGap {
  readonly spoolId: string;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly reason: string;
  readonly receivedAt: string;
}

export function canonicalGap({ spoolId, firstSequence, lastSequence, reason, receivedAt }: ShownGap): string {
  return canonicalOf({ spoolId, firstSequence, lastSequence, reason, receivedAt }) ?? '';
}
