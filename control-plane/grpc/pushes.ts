// What one stream is sent, and in which form. At most one push is unanswered, and of what it was made of only its name is kept: however
// slow a sidecar is, it costs one message on its way. What is offered meanwhile goes into the next push.
//
// States: idle (what was offered last is answered), and waiting (a push is on its way; `next` is the newest that was offered since).
// A delta leads on from what the sidecar holds: what it greeted with, then what it acknowledged last. If it refuses a delta, or will
// not call current what we do, it is sent the whole once; if it refuses that, nothing until the next revision.
import type { Revision__Output, SyncRequest__Output } from '@tollgate/proto';
import type { RevisionName } from '@tollgate/proto/contract';
import type { Published } from '../publish/publisher.ts';
import type { Encodable } from './policy.ts';

/** Of an ack, its hash; of a nack, its code. */
export type Answer = { readonly revision: Revision__Output | null | undefined } & ({ readonly hash: Buffer } | { readonly code: string });

type Held = Pick<NonNullable<SyncRequest__Output['hello']>, 'held' | 'heldHash' | 'capabilities'>;

export interface Pushes {
  /** Whether anything was offered yet. */
  readonly offered: boolean;
  /** The revision that was sent and not answered; null: none. */
  readonly waitsFor: number | null;
  offer(published: Published): void;
  /** The answered revision and when it was raised, or what is wrong with the answer. */
  answered(answer: Answer): (RevisionName & { readonly raisedAt: number }) | { readonly problem: string };
}

interface Sent extends RevisionName {
  readonly hash: Buffer;
  readonly raisedAt: number;
  readonly form: 'whole' | 'delta' | 'unchanged';
}

export function createPushes(
  { held, heldHash, capabilities }: Held,
  write: (response: Encodable, of: Pick<Sent, 'raisedAt'>) => void,
): Pushes {
  /** What the sidecar holds; null where only the whole will do. */
  let base: RevisionName | null = held ?? null;
  // A copy: as it came it keeps its whole message in memory.
  let hash: Buffer = Buffer.from(heldHash);
  let sent: Sent | null = null;
  let next: Published | null = null;
  /** The last that was offered. */
  let newest: Published | null = null;
  let offered = false;
  const takesDeltas = capabilities.includes('deltas');

  const send = (published: Published, wholly: boolean): void => {
    const { epoch, revision: number, raisedAt } = published;
    // It has heard of a newer one elsewhere, and that will come here too.
    if (base !== null && base.epoch === epoch && base.number > number) return;
    const pushed = { epoch, number, hash: published.hash, raisedAt };
    if (!wholly && published.hash.equals(hash)) {
      // What the sidecar holds already is not sent again, whatever its number.
      sent = { ...pushed, form: 'unchanged' };
      return write({ unchanged: { revision: { epoch, number }, hash: published.hash } }, sent);
    }
    const delta = wholly || !takesDeltas || base === null ? null : published.delta(base);
    sent = { ...pushed, form: delta === null ? 'whole' : 'delta' };
    write({ encoded: delta ?? published.whole() }, sent);
  };
  const sendNext = (): void => {
    const upcoming = next;
    next = null;
    if (upcoming !== null) send(upcoming, false);
  };
  const refused = (was: Sent, code: string): void => {
    // The whole would be refused for the same reason.
    if (code === 'revision_backwards' || code === 'schema_unsupported' || code === 'wrong_workspace') return sendNext();
    base = null;
    hash = nothing;
    if (was.form === 'whole') return sendNext();
    const upcoming = next ?? newest;
    next = null;
    if (upcoming !== null) send(upcoming, true);
  };

  return {
    get offered() {
      return offered;
    },
    get waitsFor() {
      return sent?.number ?? null;
    },
    offer: (published) => {
      offered = true;
      newest = published;
      if (sent !== null) next = published;
      else send(published, false);
    },
    answered: (answer) => {
      const was = sent;
      if (was === null) return { problem: `revision ${answer.revision?.number} was answered, and nothing was sent` };
      // An answer to an older push than the one in flight cannot be: there is only one in flight.
      if (answer.revision?.number !== was.number)
        return { problem: `revision ${answer.revision?.number} was answered, ${was.number} was sent` };
      if (answer.revision.epoch !== was.epoch)
        return { problem: `revision ${was.number} was answered by another epoch than it was sent by` };
      // Whoever cannot apply what was sent says so by a nack.
      if ('hash' in answer && !was.hash.equals(answer.hash))
        return { problem: `revision ${was.number} was acknowledged with another hash than it was sent with` };
      sent = null;
      if ('code' in answer) refused(was, answer.code);
      else {
        // The same as the answer's, which would keep its message in memory.
        ({ hash } = was);
        base = { epoch: was.epoch, number: was.number };
        sendNext();
      }
      return { epoch: was.epoch, number: was.number, raisedAt: was.raisedAt };
    },
  };
}

const nothing = Buffer.alloc(0);
