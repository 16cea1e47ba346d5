// The edge of `PolicyService`: one `SyncStream` a sidecar, from hello to its end.
//
// States: greeted (hello read, followed) → waiting (a push is unanswered; newer revisions replace `next`) ⇄ answered.
// Sent and acknowledged are tracked apart. A stream whose key no longer stands is ended with UNAUTHENTICATED.
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type Form__Output, policyService, type SyncRequest__Output, type SyncResponse } from '@tollgate/proto';
import { bounds, hasScope } from '@tollgate/proto/contract';
import type { WorkspaceState } from '../compile/state.ts';
import type { View } from '../compile/view.ts';
import type { Actor } from '../domain/access/actor.ts';
import type { Follower, Published, Publisher } from '../publish/publisher.ts';
import type { GrpcMetrics } from './metrics.ts';

export interface PolicyEdgeDeps {
  readonly publisher: Publisher;
  readonly wall: () => number;
  readonly random: () => number;
  readonly metrics: GrpcMetrics;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
}

/** A response, or one that is encoded already: a snapshot is encoded once and written to every stream of its view. */
export type Encodable = SyncResponse | { readonly encoded: Buffer };

export type SyncStream = ServerDuplexStream<SyncRequest__Output, Encodable>;

export const encodeSyncResponse = (response: Encodable): Buffer =>
  'encoded' in response ? response.encoded : policyService.Sync.responseSerialize(response);

/** Serves one authenticated stream until either side ends it. */
export function serveSync(deps: PolicyEdgeDeps, stream: SyncStream, actor: Actor): void {
  const { publisher, metrics, log } = deps;
  let unfollow: (() => void) | null = null;
  let heartbeat: NodeJS.Timeout | null = null;
  let sidecarId = '';
  let held: Buffer = Buffer.alloc(0);
  let sent: Published | null = null;
  let next: Published | null = null;
  let followedAt = 0;
  let expiresAt: number | null = null;
  let ended = false;

  // What was raised before this stream began says nothing about how fast we are.
  const fresh = ({ raisedAt }: Published): boolean => raisedAt >= followedAt;

  const end = (code: status, details: string): void => {
    if (ended) return;
    stop();
    stream.emit('error', { code, details });
  };
  const stop = (): void => {
    if (ended) return;
    ended = true;
    unfollow?.();
    if (heartbeat !== null) clearInterval(heartbeat);
    if (sidecarId !== '') metrics.disconnected();
  };
  const send = (published: Published): void => {
    sent = published;
    next = null;
    if (fresh(published)) metrics.sent(deps.wall() - published.raisedAt);
    const revision = { epoch: published.epoch, number: published.revision };
    // What the sidecar holds already is not sent again, whatever its number.
    stream.write(published.hash.equals(held) ? { unchanged: { revision, hash: published.hash } } : { encoded: published.bytes });
  };
  const offer = (published: Published, state: WorkspaceState): void => {
    // Older than what the key was recognised by: it may not hold the key yet, and a newer one follows.
    if (state.revision < actor.revision) return;
    const key = state.keys.find(({ id, hash }) => id === actor.keyId && hash === actor.credential.hash);
    if (key === undefined || !hasScope(key.scopes, 'sidecar.sync')) {
      end(status.UNAUTHENTICATED, 'this key was revoked or rotated, or lost the scope sidecar.sync');
      return;
    }
    expiresAt = key.expiresAt?.getTime() ?? null;
    if (sent !== null) next = published;
    else send(published);
  };
  const answered = (hash: Buffer | null, number: number | undefined): void => {
    if (sent === null) return;
    // An answer to an older push than the one in flight cannot be: there is only one in flight.
    if (number !== sent.revision) {
      end(status.INVALID_ARGUMENT, `revision ${number} was answered, ${sent.revision} was sent`);
      return;
    }
    if (fresh(sent)) metrics.acknowledged(deps.wall() - sent.raisedAt);
    if (hash !== null) held = hash;
    sent = null;
    if (next !== null) send(next);
  };
  const greet = (hello: NonNullable<SyncRequest__Output['hello']>): void => {
    if (unfollow !== null) return end(status.INVALID_ARGUMENT, 'hello is sent once');
    const view = viewFor(hello.form, actor);
    if (view === null) return end(status.INVALID_ARGUMENT, 'hello.form must be FORM_PROCESS or FORM_LIBRARY');
    sidecarId = hello.sidecarId.slice(0, bounds.nameLength);
    held = hello.heldHash;
    metrics.connected();
    log.info({ workspace: actor.slug, sidecar: sidecarId, form: view.form, held: hello.held?.number }, 'sidecar connected');
    followedAt = deps.wall();
    const follower: Follower = { view, offer, gone: () => end(status.UNAUTHENTICATED, 'the workspace was removed') };
    unfollow = publisher.follow(actor.workspaceId, follower);
    if (ended) unfollow();
    const moveAt = deps.wall() + bounds.moveMs * (0.9 + deps.random() * 0.2);
    const beat = (): void => {
      if (expiresAt !== null && deps.wall() >= expiresAt) return end(status.UNAUTHENTICATED, 'this key has expired');
      // A sidecar that does not read gets no more to read; it notices the silence.
      if (stream.writableNeedDrain) return;
      if (deps.wall() >= moveAt) stream.write({ move: {} });
      const newest = publisher.newest(actor.workspaceId);
      stream.write({ heartbeat: newest === null ? {} : { current: { epoch: newest.epoch, number: newest.revision } } });
    };
    beat();
    heartbeat = setInterval(beat, bounds.heartbeatMs);
  };

  stream.on('data', (message: SyncRequest__Output) => {
    if (ended) return;
    if (message.hello != null) greet(message.hello);
    else if (unfollow === null) end(status.INVALID_ARGUMENT, 'the first message must be hello');
    else if (message.ack != null) answered(message.ack.hash, message.ack.revision?.number);
    else if (message.nack != null) {
      metrics.refused(message.nack.code);
      log.warn(
        {
          workspace: actor.slug,
          sidecar: sidecarId,
          code: message.nack.code,
          message: message.nack.message.slice(0, 500),
          revision: message.nack.revision?.number,
        },
        'snapshot refused',
      );
      answered(null, message.nack.revision?.number);
    }
  });
  stream.on('end', () => {
    stop();
    stream.end();
  });
  stream.on('cancelled', stop);
  stream.on('error', stop);
}

function viewFor(form: Form__Output, actor: Actor): View | null {
  if (form === 'FORM_PROCESS') return { form: 'process' };
  return form === 'FORM_LIBRARY' ? { form: 'library', keyId: actor.keyId } : null;
}
