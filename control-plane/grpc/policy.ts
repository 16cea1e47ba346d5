// The edge of `PolicyService`: one `SyncStream` for each sidecar, from hello to its end.
//
// States: greeted (hello read, followed) → waiting (a push is unanswered; newer revisions replace `next`) ⇄ answered.
// Sent and acknowledged revisions are tracked in `pushes.ts`. A stream whose key is no longer valid is ended with
// UNAUTHENTICATED.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type Hello__Output, policyService, type SyncRequest__Output } from '@tollgate/proto';
import { bounds, needable, type Needs, type RevisionName } from '@tollgate/proto/contract';
import type { View } from '../publish/view.ts';
import type { Actor } from '../access/rules/actor.ts';
import { type Form as SidecarForm, mayServe } from '../sidecars/rules/forms.ts';
import { helloProblem, nackCodeOf } from '../sidecars/rules/sidecar.ts';
import type { ConnectedSidecar, Roster } from '../sidecars/operations/roster.ts';
import type { Follower, LiveWorkspace, Published, Publisher } from '../publish/publisher.ts';
import type { GrpcMetrics } from './metrics.ts';
import { type Answer, createPushes, type Encodable, type Pushes } from './pushes.ts';
import type { StreamSeats } from './stream-seats.ts';

const aheadBeats = 5;

export interface PolicyEdgeDeps {
  readonly publisher: Publisher;
  readonly needs: Needs;
  readonly roster: Pick<Roster, 'enters'>;
  readonly wall: () => number;
  readonly random: () => number;
  readonly metrics: GrpcMetrics;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

export type SyncStream = ServerDuplexStream<SyncRequest__Output, Encodable>;

export const encodeSyncResponse = (response: Encodable): Buffer =>
  'encoded' in response ? response.encoded : policyService.Sync.responseSerialize(response);

interface PolicyStreamLimits {
  /** Limits the streams, because each can have a snapshot in flight that the sidecar never reads. */
  readonly seats: StreamSeats;
}

/** Serves one authenticated stream until either side ends it. */
export function serveSync(deps: PolicyEdgeDeps & PolicyStreamLimits, stream: SyncStream, actor: Actor): void {
  const { publisher, metrics, log } = deps;
  const seat = deps.seats.take(actor);
  if ('taken' in seat) {
    stream.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `too many streams of policy are open for this ${seat.taken}` });
    return;
  }
  let unfollow: (() => void) | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  let sidecarId = '';
  let form: SidecarForm = 'process';
  let present: ConnectedSidecar | null = null;
  let pushes: Pushes | null = null;
  /** The epoch of the revision at which the key was authenticated; later that of the last offered revision. */
  let { epoch } = actor;
  let followedAt = 0;
  let expiresAt: number | null = null;
  let unanswered = 0;
  /**
   * The revision that the sidecar reports as held, and for how many heartbeats it was newer than every known revision.
   */
  let holds: RevisionName | null = null;
  let ahead = 0;
  let ended = false;

  // Revisions that were raised before this stream began are not counted in the latency.
  const sinceRaised = (raisedAt: number): number | null => (raisedAt >= followedAt ? deps.wall() - raisedAt : null);

  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const stop = (): void => {
    if (ended) return;
    ended = true;
    seat.leave();
    unfollow?.();
    if (heartbeat !== null) clearInterval(heartbeat);
    present?.left();
    if (sidecarId !== '') metrics.disconnected();
  };
  const offer = (published: Published, live: LiveWorkspace): void => {
    if (published.epoch !== epoch) {
      // The key was authenticated with another copy of the database than the one that is held here. Both will soon be
      // the same.
      if (pushes?.offered !== true) return end(status.UNAVAILABLE, 'the database was restored; connect again');
      epoch = published.epoch;
    }
    // This revision is older than the one at which the key was authenticated, so it can lack the key. A newer one will
    // follow.
    else if (epoch === actor.epoch && published.revision < actor.revision) return;
    const key = live.keyOf(actor.keyId);
    if (key === undefined || key.hash !== actor.credential.hash || !mayServe(key, form)) {
      end(status.UNAUTHENTICATED, `this key was revoked or rotated, or lost the scope that a ${form} needs`);
      return;
    }
    expiresAt = key.expiresAt?.getTime() ?? null;
    pushes?.offer(published);
  };
  const answered = (answer: Answer): void => {
    const outcome = pushes?.answered(answer) ?? null;
    if (outcome === null) return;
    if ('problem' in outcome) return end(status.INVALID_ARGUMENT, outcome.problem);
    unanswered = 0;
    if ('hash' in answer) {
      holds = outcome;
      present?.holds(outcome);
    }
    const ms = sinceRaised(outcome.raisedAt);
    if (ms !== null) metrics.acknowledged(ms);
  };
  /**
   * For a moment, the sidecar can know a revision from another control plane that is not known here. If this lasts
   * longer, the database was set back.
   */
  const noticeAhead = (): void => {
    const newest = publisher.live(actor.workspaceId);
    const isAhead = newest !== null && holds !== null && holds.epoch === newest.epoch && holds.number > newest.revision;
    ahead = isAhead ? ahead + 1 : 0;
    if (ahead !== aheadBeats) return;
    log.warn(
      { workspace: actor.slug, sidecar: sidecarId, held: holds?.number, revision: newest?.revision },
      'a sidecar has a newer revision than the database and accepts none: if the database was restored from a backup, run `tollgate restore`',
    );
  };
  const heartbeatNow = (): void => {
    const newest = publisher.live(actor.workspaceId);
    stream.write({ heartbeat: newest === null ? {} : { current: { epoch: newest.epoch, number: newest.revision } } });
  };
  const greet = (hello: NonNullable<SyncRequest__Output['hello']>): void => {
    if (unfollow !== null) return end(status.INVALID_ARGUMENT, 'hello must be sent only once');
    const view = viewFor(hello, actor, deps.needs);
    if (view === null) return end(status.INVALID_ARGUMENT, 'hello.form must be FORM_PROCESS or FORM_LIBRARY');
    if (!mayServe(actor, view.form))
      return end(
        status.PERMISSION_DENIED,
        'the key lacks the scope sidecar.sync, which a process needs; sidecar.library is only for libraries',
      );
    const problem = helloProblem(hello);
    if (problem !== null) return end(status.INVALID_ARGUMENT, problem);
    ({ form } = view);
    const { workspaceId, keyId } = actor;
    const { bootId, held } = hello;
    holds = held ?? null;
    ({ sidecarId } = hello);
    present = deps.roster.enters({
      workspaceId,
      keyId,
      sidecarId,
      bootId,
      form: view.form,
      held: held ?? null,
      capabilities: hello.capabilities,
    });
    pushes = createPushes(hello, (response, { raisedAt }) => {
      const ms = sinceRaised(raisedAt);
      if (ms !== null) metrics.sent(ms);
      stream.write(response);
    });
    metrics.connected();
    log.info({ workspace: actor.slug, sidecar: sidecarId, form: view.form, held: hello.held?.number }, 'sidecar connected');
    followedAt = deps.wall();
    // The heartbeat is sent first, before steps that can take long. A sidecar that has received it waits for the rest.
    heartbeatNow();
    const follower: Follower = { view, offer, gone: () => end(status.UNAUTHENTICATED, 'the workspace was removed') };
    unfollow = publisher.follow(actor.workspaceId, follower);
    if (ended) return unfollow();
    const moveAt = deps.wall() + bounds.moveMs * (0.9 + deps.random() * 0.2);
    const beat = (): void => {
      if (expiresAt !== null && deps.wall() >= expiresAt) return end(status.UNAUTHENTICATED, 'this key has expired');
      unanswered = pushes?.waitsFor == null ? 0 : unanswered + 1;
      if (unanswered > bounds.answerMs / bounds.heartbeatMs)
        return end(status.DEADLINE_EXCEEDED, `revision ${pushes?.waitsFor} was not answered within ${bounds.answerMs / 1000} s`);
      noticeAhead();
      // A sidecar that does not read gets no more messages. It notices the missing heartbeats.
      if (stream.writableNeedDrain) return;
      if (deps.wall() >= moveAt) stream.write({ move: {} });
      heartbeatNow();
    };
    heartbeat = setInterval(beat, bounds.heartbeatMs);
  };

  stream.on('data', (message: SyncRequest__Output) => {
    if (ended) return;
    if (message.hello != null) greet(message.hello);
    else if (unfollow === null) end(status.INVALID_ARGUMENT, 'the first message must be hello');
    else if (message.ack != null) answered({ hash: message.ack.hash, revision: message.ack.revision });
    else if (message.status != null) {
      const problem = present?.says(message.status) ?? null;
      if (problem !== null) end(status.INVALID_ARGUMENT, problem);
    } else if (message.nack != null) {
      metrics.refused(message.nack.code);
      log.warn(
        {
          workspace: actor.slug,
          sidecar: sidecarId,
          code: nackCodeOf(message.nack.code),
          message: message.nack.message.slice(0, bounds.nackMessageLength),
          revision: message.nack.revision?.number,
        },
        'snapshot refused',
      );
      present?.refused(message.nack.code, message.nack.message);
      answered({ code: message.nack.code, revision: message.nack.revision });
    }
  });
  stream.on('end', () => {
    stop();
    stream.end();
  });
  stream.on('cancelled', stop);
  stream.on('error', stop);
}

function viewFor({ form, capabilities }: Pick<Hello__Output, 'form' | 'capabilities'>, actor: Actor, needs: Needs): View | null {
  const lacks = needable(needs).filter((need) => !capabilities.includes(need));
  if (form === 'FORM_PROCESS') return { form: 'process', lacks };
  return form === 'FORM_LIBRARY' ? { form: 'library', keyId: actor.keyId, lacks } : null;
}
