// Follows the control plane's policy: one stream at a time, reopened with full jitter for as long as the sidecar lives.
//
// States: connecting → open (hello sent; snapshots are offered to the cell and answered with ack or nack) → lost, which
// waits its backoff and connects again. Asked to move, it opens the next stream before it leaves this one. Silence for
// `silenceMs` on an open stream counts as lost. A key that the control plane refuses is tried again at the slowest pace,
// and the cell is told: a sidecar without a good key of its own must not decide.
import { type ClientDuplexStream, type ServiceError, status } from '@grpc/grpc-js';
import { createPolicyClient, type SyncRequest, type SyncResponse__Output } from '@tollgate/proto';
import { bounds, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { createBackoff } from '../backoff.ts';
import type { Index } from '../decide/build-index.ts';
import type { Offered, PolicyCell } from '../snapshot/cell.ts';
import type { SnapshotMessage } from '../snapshot/verify.ts';
import type { Channel } from './channel.ts';

export interface FollowDeps {
  readonly cell: PolicyCell;
  readonly channel: Channel;
  readonly random: () => number;
  readonly log: { info(fields: object, message: string): void };
  /** A snapshot was taken; it may be written to disk. */
  readonly onTaken: (message: SnapshotMessage) => void;
  /** The control plane refuses this sidecar's key. */
  readonly onRefused: () => void;
  /** The control plane answers again after it did not. */
  readonly onOpen: () => void;
  /** The control plane answered, or could not be reached. */
  readonly onState: () => void;
}

export interface FollowConfig {
  readonly sidecarId: string;
  readonly bootId: string;
  readonly form: 'FORM_PROCESS' | 'FORM_LIBRARY';
}

export interface Follower {
  /** Why there is no stream; null while one is open. */
  readonly problem: string | null;
  /** The control plane has said which policy is current: a heartbeat alone says nothing of the one that is held. */
  readonly told: boolean;
  close(): void;
}

type PolicyStream = ClientDuplexStream<SyncRequest, SyncResponse__Output>;

const silenceMs = 5 * bounds.heartbeatMs;

export function followPolicy(deps: FollowDeps, config: FollowConfig): Follower {
  const { cell, channel, log } = deps;
  const backoff = createBackoff({ random: deps.random, firstMs: bounds.reconnectMs.first, maxMs: bounds.reconnectMs.max });
  let closed = false;
  let problem: string | null = 'not connected yet';
  let told = false;
  let stream: PolicyStream | null = null;
  // The stream that is left once the next one has answered.
  let leaving: PolicyStream | null = null;
  let timer: NodeJS.Timeout | null = null;

  const lose = (error: ServiceError | null): void => {
    if (stream === null) return;
    const refusedKey = error !== null && (error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED);
    const before = leaving;
    leaving = null;
    if (before !== null && !refusedKey && !closed) {
      // A move that failed: the stream that was to be left is still good.
      stream = before;
      return watch(before);
    }
    before?.cancel();
    stream = null;
    cell.lost();
    if (timer !== null) clearTimeout(timer);
    if (closed) return;
    problem = error === null ? 'the control plane ended the stream' : error.details || error.message;
    if (refusedKey) {
      cell.refuse(problem);
      deps.onRefused();
    }
    const waitMs = refusedKey ? bounds.reconnectMs.max * (0.5 + deps.random() / 2) : backoff.next();
    log.info({ problem, waitMs: Math.round(waitMs) }, 'policy stream lost');
    timer = setTimeout(connect, waitMs);
    deps.onState();
  };

  const watch = (opened: PolicyStream): void => {
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => {
      if (stream !== opened) return;
      opened.cancel();
      lose(null);
    }, silenceMs);
  };

  const connect = (): void => {
    // A connection of its own for each stream: a move over the same one would end at the same control plane.
    const client = createPolicyClient(channel.address, channel.credentials, { ...channel.options, 'grpc.use_local_subchannel_pool': 1 });
    const opened = client.sync(channel.metadata());
    opened.on('status', () => client.close());
    stream = opened;
    opened.on('data', (message: SyncResponse__Output) => {
      if (stream !== opened) return;
      watch(opened);
      if (problem !== null) {
        log.info({ address: channel.address }, 'policy stream open');
        deps.onOpen();
      }
      problem = null;
      backoff.reset();
      leaving?.end();
      leaving = null;
      if (message.message === 'move') return move(opened);
      if (message.message === 'snapshot' || message.message === 'unchanged') told = true;
      receive(deps, message, (answer) => void opened.write(answer));
      deps.onState();
    });
    const over = (error: ServiceError | null): void => {
      if (leaving === opened) leaving = null;
      if (stream === opened) lose(error);
    };
    opened.on('error', over);
    opened.on('end', () => {
      opened.end();
      over(null);
    });
    watch(opened);
    opened.write({ hello: helloOf(cell.current, config) });
  };

  const move = (from: PolicyStream): void => {
    leaving = from;
    connect();
  };

  connect();
  return {
    get problem() {
      return problem;
    },
    get told() {
      return told;
    },
    close: () => {
      closed = true;
      if (timer !== null) clearTimeout(timer);
      const open = stream;
      lose(null);
      open?.cancel();
    },
  };
}

const helloOf = (held: Index | null, { sidecarId, bootId, form }: FollowConfig): NonNullable<SyncRequest['hello']> => ({
  sidecarId: sidecarId,
  bootId: bootId,
  form,
  schemaVersion: snapshotSchemaVersion,
  ...(held === null ? {} : { held: { epoch: held.epoch, number: held.revision }, heldHash: held.hash }),
});

function receive({ cell, log, onTaken }: FollowDeps, message: SyncResponse__Output, answer: (request: SyncRequest) => void): void {
  switch (message.message) {
    case 'heartbeat':
      cell.heard(message.heartbeat?.current?.number ?? null);
      return;
    case 'snapshot': {
      cell.heard(null);
      const { snapshot } = message;
      if (snapshot == null) return;
      const offered = cell.offer(snapshot);
      if (offered.ok) onTaken(snapshot);
      answer(answerTo(snapshot.revision, offered));
      log.info(
        { revision: snapshot.revision?.number, ...(offered.ok ? {} : { code: offered.code, message: offered.message }) },
        offered.ok ? 'snapshot taken' : 'snapshot refused',
      );
      return;
    }
    case 'unchanged': {
      cell.heard(null);
      const { revision, hash } = message.unchanged ?? {};
      if (revision == null || hash === undefined) return;
      answer(answerTo(revision, cell.renumber(revision, hash)));
      return;
    }
    case 'move':
    case undefined:
      return;
  }
}

const answerTo = (revision: { readonly epoch: string; readonly number: number } | null, offered: Offered): SyncRequest =>
  offered.ok ? { ack: { revision, hash: offered.index.hash } } : { nack: { revision, code: offered.code, message: offered.message } };
