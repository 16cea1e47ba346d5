// Computes the links of a workspace's chain. Each item of the log (an entry or a gap) has a digest of its number and of
// its canonical JSON as an export shows it. The value after an item is a hash over three parts: the value before the
// item, the time of the item, and its digest. The value after any item therefore depends on all items up to it. An item
// that is out of retention can be replaced by its time and digest. Every input of a hash is text with one line for each
// part, and the first line states its type. Values and digests are 64 hex digits.
import { hash } from 'node:crypto';
import { canonicalOf } from './canonical.ts';

const sha256 = (text: string): string => hash('sha256', text, 'hex');

/** Returns the digest of an item. `n` is the number of the item, so that a moved item is detected. */
export const digestOf = (n: number, canonical: string): string => sha256(`${n}\n${canonical}`);

/** Returns the value before the first item. `beginsAfter`: the number of items that existed before the chain. */
export const valueBefore = (origin: string, beginsAfter: number): string => sha256(`tollgate audit begin\n${origin}\n${beginsAfter}\n`);

/** Returns the value after an entry. `ts`: the time of the decision, as an export shows it. */
export const valueAfterEntry = (before: string, ts: string, digest: string): string =>
  sha256(`tollgate audit entry\n${before}\n${ts}\n${digest}\n`);

export const valueAfterGap = (before: string, receivedAt: string, digest: string): string =>
  sha256(`tollgate audit gap\n${before}\n${receivedAt}\n${digest}\n`);

/** Records of a spool that never arrived, or that could not be read. */
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
