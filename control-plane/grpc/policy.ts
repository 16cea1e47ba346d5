// The edge of `PolicyService`: one `SyncStream` for each sidecar, from hello to its end.
//
// States: greeted (the hello was read, and the stream follows the revisions of its workspace) → waiting (a push is
// unanswered; newer revisions replace `next`) ⇄ answered. Sent and acknowledged revisions are tracked in `pushes.ts`. A
// stream whose key is no longer valid is ended with UNAUTHENTICATED.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type Hello__Output, policyService, type SyncRequest__Output } from '@tollgate/proto';
import { bounds, needable, type Needs, type RevisionName } from '@tollgate/proto/contract';
import type { View } from '../publish/view.ts';
import type { Actor } from '../access/rules/actor.ts';
import { type Form as SidecarForm, mayServe } from '../sidecars/rules/forms.ts';
import { helloProblem, nackCodeOf } from '../sidecars/rules/sidecar.ts';
import type { ConnectedSidecar, Roster } from '../sidecars/operations/roster.ts';
import type { Follower, LiveWorkspace, PublishedView, Publisher } from '../publish/publisher.ts';
import type { GrpcMetrics } from './metrics.ts';
import { type Answer, createPushes, type Encodable, type Pushes } from './pushes.ts';
import type { StreamSeats } from './stream-seats.ts';

const aheadBeats = 5;

export interface PolicyEdgeDeps {
  readonly publisher: Publisher;
  readonly needs: Needs;
  readonly roster: Pick<Roster, 'enters'>;
  readonly wallTime: () => number;
  readonly random: () => number;
  readonly metrics: GrpcMetrics;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export type SyncStream = ServerDuplexStream<SyncRequest__Output, Encodable>;

export const encodeSyncResponse = (response: Encodable): Buffer =>
  'encoded' in response ? response.encoded : policyService.Sync.responseSerialize(response);

interface PolicyStreamLimits {
  /** Calls the function at every heartbeat, until the returned function is called. */
  readonly beats: (call: () => void) => () => void;
  /** Limits the number of streams, because each stream can have a snapshot in flight that the sidecar never reads. */
  readonly seats: StreamSeats;
}

/** Serves one authenticated stream until either side ends it. */
export function serveSync(deps: PolicyEdgeDeps & PolicyStreamLimits, stream: SyncStream, actor: Actor): void {
  const seat = deps.seats.take(actor);
  if ('taken' in seat)
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many streams of policy are open for this ${seat.taken}` });
  else new PolicyStream(deps, stream, actor, seat.leave).listen();
}

type Hello = NonNullable<SyncRequest__Output['hello']>;
type Nack = NonNullable<SyncRequest__Output['nack']>;

/** The state that a stream has after its hello. */
interface Greeted {
  readonly sidecarId: string;
  readonly form: SidecarForm;
  readonly present: ConnectedSidecar;
  readonly pushes: Pushes;
  /** When the stream began to follow the revisions of its workspace, by `wallTime`. */
  readonly followedAt: number;
  /** When the sidecar is asked to move to another control plane, by `wallTime`. */
  readonly moveAt: number;
}

class PolicyStream {
  readonly #deps: PolicyEdgeDeps & PolicyStreamLimits;
  readonly #stream: SyncStream;
  readonly #actor: Actor;
  readonly #leaveSeat: () => void;
  #greeted: Greeted | null = null;
  #unfollow: (() => void) | null = null;
  #endHeartbeat: (() => void) | null = null;
  /** The epoch of the revision at which the key was authenticated; later the epoch of the last offered revision. */
  #epoch: string;
  #expiresAt: number | null = null;
  /** The number of heartbeats since the unanswered push. */
  #unanswered = 0;
  /** The revision that the sidecar reports as held. */
  #holds: RevisionName | null = null;
  /** For how many heartbeats the held revision was newer than every known revision. */
  #ahead = 0;
  #ended = false;

  constructor(deps: PolicyEdgeDeps & PolicyStreamLimits, stream: SyncStream, actor: Actor, leaveSeat: () => void) {
    this.#deps = deps;
    this.#stream = stream;
    this.#actor = actor;
    this.#leaveSeat = leaveSeat;
    this.#epoch = actor.epoch;
  }

  listen(): void {
    this.#stream.on('data', (message: SyncRequest__Output) => this.#receive(message));
    this.#stream.on('end', () => {
      this.#stop();
      this.#stream.end();
    });
    this.#stream.on('cancelled', () => this.#stop());
    this.#stream.on('error', () => this.#stop());
  }

  #receive({ hello, ack, status: reported, nack }: SyncRequest__Output): void {
    if (this.#ended) return;
    if (hello != null) return this.#greet(hello);
    const greeted = this.#greeted;
    if (greeted === null) this.#end(status.INVALID_ARGUMENT, 'the first message must be hello');
    else if (ack != null) this.#takeAnswer(greeted, { hash: ack.hash, revision: ack.revision });
    else if (reported != null) {
      const problem = greeted.present.says(reported);
      if (problem !== null) this.#end(status.INVALID_ARGUMENT, problem);
    } else if (nack != null) this.#takeNack(greeted, nack);
  }

  #greet(hello: Hello): void {
    if (this.#greeted !== null) return this.#end(status.INVALID_ARGUMENT, 'hello must be sent only once');
    const view = viewFor(hello, this.#actor, this.#deps.needs);
    if (view === null) return this.#end(status.INVALID_ARGUMENT, 'hello.form must be FORM_PROCESS or FORM_LIBRARY');
    if (!mayServe(this.#actor, view.form))
      return this.#end(
        status.PERMISSION_DENIED,
        'the key lacks the scope sidecar.sync, which a process needs; sidecar.library is only for libraries',
      );
    const problem = helloProblem(hello);
    if (problem !== null) return this.#end(status.INVALID_ARGUMENT, problem);
    this.#enter(hello, view.form);
    // The heartbeat is sent first, before steps that can take long. A sidecar that has received it waits for the rest.
    this.#sendHeartbeat();
    this.#follow(view);
  }

  #enter({ sidecarId, bootId, held, heldHash, capabilities }: Hello, form: SidecarForm): void {
    const { roster, metrics, log, wallTime, random } = this.#deps;
    const { workspaceId, keyId, slug } = this.#actor;
    this.#holds = held ?? null;
    const present = roster.enters({ workspaceId, keyId, sidecarId, bootId, form, held: this.#holds, capabilities });
    const followedAt = wallTime();
    const pushes = createPushes({ held, heldHash, capabilities }, (response, { raisedAt }) => {
      const ms = this.#sinceRaised(raisedAt, followedAt);
      if (ms !== null) metrics.sent(ms);
      this.#stream.write(response);
    });
    const moveAt = followedAt + bounds.moveMs * (0.9 + random() * 0.2);
    this.#greeted = { sidecarId, form, present, pushes, followedAt, moveAt };
    metrics.connected();
    log.info({ workspace: slug, sidecar: sidecarId, form, held: held?.number }, 'sidecar connected');
  }

  #follow(view: View): void {
    const follower: Follower = {
      view,
      offer: (published, live) => this.#offer(published, live),
      gone: () => this.#end(status.UNAUTHENTICATED, 'the workspace was removed'),
    };
    const unfollow = this.#deps.publisher.follow(this.#actor.workspaceId, follower);
    // The first offer can end the stream before `follow` returns.
    if (this.#ended) return unfollow();
    this.#unfollow = unfollow;
    this.#endHeartbeat = this.#deps.beats(() => this.#beat());
  }

  #offer(published: PublishedView, live: LiveWorkspace): void {
    const greeted = this.#greeted;
    if (greeted === null) return;
    const actor = this.#actor;
    if (published.epoch !== this.#epoch) {
      // This revision is from another copy of the database than the copy with which the key was authenticated. After a
      // moment, this process also has the revision of the other copy.
      if (!greeted.pushes.offered) return this.#end(status.UNAVAILABLE, 'the database was restored; connect again');
      this.#epoch = published.epoch;
    }
    // This revision is older than the one at which the key was authenticated, so it may not contain the key. A newer
    // revision will follow.
    else if (this.#epoch === actor.epoch && published.revision < actor.revision) return;
    const key = live.keyOf(actor.keyId);
    if (key === undefined || key.hash !== actor.credential.hash || !mayServe(key, greeted.form))
      return this.#end(status.UNAUTHENTICATED, `this key was revoked or rotated, or lost the scope that a ${greeted.form} needs`);
    this.#expiresAt = key.expiresAt?.getTime() ?? null;
    greeted.pushes.offer(published);
  }

  #takeNack(greeted: Greeted, { code, message, revision }: Nack): void {
    const { metrics, log } = this.#deps;
    metrics.refused(code);
    log.warn(
      {
        workspace: this.#actor.slug,
        sidecar: greeted.sidecarId,
        code: nackCodeOf(code),
        message: message.slice(0, bounds.nackMessageLength),
        revision: revision?.number,
      },
      'snapshot refused',
    );
    greeted.present.refused(code, message);
    this.#takeAnswer(greeted, { code, revision });
  }

  #takeAnswer({ pushes, present, followedAt }: Greeted, answer: Answer): void {
    const outcome = pushes.answered(answer);
    if ('problem' in outcome) return this.#end(status.INVALID_ARGUMENT, outcome.problem);
    this.#unanswered = 0;
    if ('hash' in answer) {
      this.#holds = outcome;
      present.holds(outcome);
    }
    const ms = this.#sinceRaised(outcome.raisedAt, followedAt);
    if (ms !== null) this.#deps.metrics.acknowledged(ms);
  }

  #beat(): void {
    const greeted = this.#greeted;
    if (greeted === null) return;
    const now = this.#deps.wallTime();
    if (this.#expiresAt !== null && now >= this.#expiresAt) return this.#end(status.UNAUTHENTICATED, 'this key has expired');
    const { waitsFor } = greeted.pushes;
    this.#unanswered = waitsFor === null ? 0 : this.#unanswered + 1;
    if (this.#unanswered > bounds.answerMs / bounds.heartbeatMs)
      return this.#end(status.DEADLINE_EXCEEDED, `revision ${waitsFor} was not answered within ${bounds.answerMs / 1000} s`);
    this.#noticeAhead(greeted);
    // A sidecar that does not read gets no more messages. It notices that the heartbeats are missing.
    if (this.#stream.writableNeedDrain) return;
    if (now >= greeted.moveAt) this.#stream.write({ move: {} });
    this.#sendHeartbeat();
  }

  #sendHeartbeat(): void {
    const newest = this.#deps.publisher.live(this.#actor.workspaceId);
    const current = newest === null ? {} : { current: { epoch: newest.epoch, number: newest.revision } };
    this.#stream.write({ heartbeat: { ...current, timeMs: this.#deps.wallTime() } });
  }

  /**
   * Warns if the sidecar has a revision that is newer than every revision known here. For a moment this is normal,
   * because another control plane may have sent the revision. If it lasts longer, the database was set back.
   */
  #noticeAhead({ sidecarId }: Greeted): void {
    const newest = this.#deps.publisher.live(this.#actor.workspaceId);
    const holds = this.#holds;
    const isAhead = newest !== null && holds !== null && holds.epoch === newest.epoch && holds.number > newest.revision;
    this.#ahead = isAhead ? this.#ahead + 1 : 0;
    if (this.#ahead !== aheadBeats) return;
    this.#deps.log.warn(
      { workspace: this.#actor.slug, sidecar: sidecarId, held: holds?.number, revision: newest?.revision },
      'a sidecar has a newer revision than the database, so it accepts no revision of the database; if the database was restored from a backup, run `tollgate-control-plane restore`',
    );
  }

  /**
   * Returns the time since the revision was raised, in ms. Returns null if it was raised before this stream began to
   * follow: it is then not counted in the latency.
   */
  #sinceRaised(raisedAt: number, followedAt: number): number | null {
    return raisedAt >= followedAt ? this.#deps.wallTime() - raisedAt : null;
  }

  #end(code: status, details: string): void {
    if (this.#ended) return;
    this.#stop();
    this.#stream.emit('error', { code, details });
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#leaveSeat();
    this.#unfollow?.();
    this.#endHeartbeat?.();
    if (this.#greeted === null) return;
    this.#greeted.present.left();
    this.#deps.metrics.disconnected();
  }
}

function viewFor({ form, capabilities }: Pick<Hello__Output, 'form' | 'capabilities'>, actor: Actor, needs: Needs): View | null {
  const lacks = needable(needs).filter((need) => !capabilities.includes(need));
  if (form === 'FORM_PROCESS') return { form: 'process', lacks };
  return form === 'FORM_LIBRARY' ? { form: 'library', keyId: actor.keyId, lacks } : null;
}
