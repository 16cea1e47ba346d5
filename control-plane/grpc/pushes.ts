// Decides what one stream is sent, and in which form. At most one push is unanswered, and only the name of its revision
// is kept. A slow sidecar therefore costs only one message in flight. Revisions that are offered in the meantime are
// sent with the next push.
//
// States: idle (the last offered revision is answered), and waiting (a push is unanswered; `next` is the newest
// revision that was offered since). A delta starts from the revision that the sidecar holds: first the revision of its
// hello, later the last revision that it acknowledged. If the sidecar refuses a delta or an `unchanged`, the whole
// snapshot is sent once. If the sidecar also refuses the snapshot, nothing is sent until the next revision.
import type { Revision__Output, SyncRequest__Output, SyncResponse } from '@tollgate/proto';
import type { RevisionName } from '@tollgate/proto/contract';
import type { PublishedView } from '../publish/publisher.ts';

/** A response, or one that is already encoded: a snapshot is encoded once and written to every stream of its view. */
export type Encodable = SyncResponse | { readonly encoded: Buffer };

/** The answer of a sidecar: an ack with its hash, or a nack with its code. */
export type Answer = { readonly revision: Revision__Output | null | undefined } & ({ readonly hash: Buffer } | { readonly code: string });

type HeldSnapshot = Pick<NonNullable<SyncRequest__Output['hello']>, 'held' | 'heldHash' | 'capabilities'>;

export interface Pushes {
  /** Whether any revision was offered. */
  readonly offered: boolean;
  /** The number of the unanswered revision; null: there is no unanswered push. */
  readonly waitsFor: number | null;
  offer(published: PublishedView): void;
  /** Returns the answered revision and when it was raised. If the answer is wrong, returns the problem. */
  answered(answer: Answer): (RevisionName & { readonly raisedAt: number }) | { readonly problem: string };
}

interface SentRevision extends RevisionName {
  readonly hash: Buffer;
  readonly raisedAt: number;
  readonly form: 'whole' | 'delta' | 'unchanged';
}

const nothing = Buffer.alloc(0);

type Write = (response: Encodable, of: Pick<SentRevision, 'raisedAt'>) => void;

export const createPushes = (held: HeldSnapshot, write: Write): Pushes => new RevisionPushes(held, write);

class RevisionPushes implements Pushes {
  readonly #write: Write;
  readonly #takesDeltas: boolean;
  /** The revision that the sidecar holds; null if only the whole snapshot can be sent. */
  #base: RevisionName | null;
  /** The hash of the snapshot that the sidecar holds. */
  #hash: Buffer;
  #sent: SentRevision | null = null;
  #next: PublishedView | null = null;
  /** The last revision that was offered; null: none. */
  #newest: PublishedView | null = null;

  constructor({ held, heldHash, capabilities }: HeldSnapshot, write: Write) {
    this.#write = write;
    this.#takesDeltas = capabilities.includes('deltas');
    this.#base = held ?? null;
    // The hash is copied, because the original buffer keeps its whole message in memory.
    this.#hash = Buffer.from(heldHash);
  }

  get offered(): boolean {
    return this.#newest !== null;
  }

  get waitsFor(): number | null {
    return this.#sent?.number ?? null;
  }

  offer(published: PublishedView): void {
    this.#newest = published;
    if (this.#sent !== null) this.#next = published;
    else this.#send(published, false);
  }

  answered(answer: Answer): ReturnType<Pushes['answered']> {
    const was = this.#sent;
    if (was === null) return { problem: `revision ${answer.revision?.number} was answered, but no snapshot was sent` };
    // An answer to an older push is not possible, because only one push is in flight.
    if (answer.revision?.number !== was.number)
      return { problem: `revision ${answer.revision?.number} was answered, but ${was.number} was sent` };
    if (answer.revision.epoch !== was.epoch)
      return { problem: `revision ${was.number} was answered with another epoch than it was sent with` };
    // A sidecar that cannot apply a push must send a nack.
    if ('hash' in answer && !was.hash.equals(answer.hash))
      return { problem: `revision ${was.number} was acknowledged with another hash than it was sent with` };
    this.#sent = null;
    if ('code' in answer) this.#resend(was, answer.code);
    else {
      // The hash of the answer is equal, but its buffer would keep the whole message of the answer in memory.
      this.#hash = was.hash;
      this.#base = { epoch: was.epoch, number: was.number };
      this.#sendNext();
    }
    return { epoch: was.epoch, number: was.number, raisedAt: was.raisedAt };
  }

  #send(published: PublishedView, wholly: boolean): void {
    const { epoch, revision: number, raisedAt } = published;
    // The sidecar has received a newer revision from another control plane. That revision will arrive here too.
    if (this.#base !== null && this.#base.epoch === epoch && this.#base.number > number) return;
    const pushed = { epoch, number, hash: published.hash, raisedAt };
    if (!wholly && published.hash.equals(this.#hash)) {
      // Content that the sidecar already holds is not sent again, whatever its revision number.
      this.#sent = { ...pushed, form: 'unchanged' };
      return this.#write({ unchanged: { revision: { epoch, number }, hash: published.hash } }, this.#sent);
    }
    const delta = wholly || !this.#takesDeltas || this.#base === null ? null : published.delta(this.#base);
    this.#sent = { ...pushed, form: delta === null ? 'whole' : 'delta' };
    this.#write({ encoded: delta ?? published.whole() }, this.#sent);
  }

  #sendNext(): void {
    const upcoming = this.#next;
    this.#next = null;
    if (upcoming !== null) this.#send(upcoming, false);
  }

  /** Sends the whole snapshot if it can repair the refusal. Otherwise sends the next revision, if there is one. */
  #resend(was: SentRevision, code: string): void {
    // The whole snapshot would be refused for the same reason.
    if (code === 'revision_backwards' || code === 'schema_unsupported' || code === 'wrong_workspace') return this.#sendNext();
    this.#base = null;
    this.#hash = nothing;
    if (was.form === 'whole') return this.#sendNext();
    const upcoming = this.#next ?? this.#newest;
    this.#next = null;
    if (upcoming !== null) this.#send(upcoming, true);
  }
}
