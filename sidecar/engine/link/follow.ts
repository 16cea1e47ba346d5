// Receives the control plane's policy over one stream at a time. A lost stream is opened again, with full jitter, as
// long as the sidecar lives.
//
// States: connecting → open (hello sent; snapshots and deltas are offered to the cell and answered with ack or nack) →
// lost: it connects again after its backoff. If the control plane asks the sidecar to move, the next stream is opened
// before this one is closed. An open stream without a message for `silenceMs` counts as lost. A key that the control
// plane refuses is tried again at the slowest pace, and the cell is notified: a sidecar without a valid key must not
// decide.
import { type ClientDuplexStream, connectivityState, type ServiceError, status } from '@grpc/grpc-js';
import { createPolicyClient, type Status, type SyncRequest, type SyncResponse__Output } from '@tollgate/proto';
import { bounds, capabilities, type RevisionName, snapshotSchemaVersion } from '@tollgate/proto/contract';
import { type Backoff, barredMs, createBackoff } from '../../base/backoff.ts';
import type { Index } from '../decide/build-index.ts';
import type { OfferResult, PolicyCell } from '../snapshot/cell.ts';
import type { Channel } from './channel.ts';
import { explainLink } from './explain.ts';
import { ownConnection } from './own-connection.ts';

export interface FollowDeps {
  readonly cell: PolicyCell;
  readonly channel: Channel;
  readonly random: () => number;
  readonly log: { info(fields: object, message: string): void };
  /** Called after the held policy has changed, so that it can be written to disk. */
  readonly onTaken: () => void;
  readonly readStatus: () => Status;
  /** Called when the control plane refuses this sidecar's key. */
  readonly onRefused: () => void;
  /** Called when the control plane answers again after an interruption. */
  readonly onOpen: () => void;
  /** Called when the control plane answered, or could not be reached. */
  readonly onState: () => void;
}

export interface FollowConfig {
  readonly sidecarId: string;
  readonly bootId: string;
  readonly form: 'FORM_PROCESS' | 'FORM_LIBRARY';
}

export interface Follower {
  /** Why there is no stream. Null while one is open. */
  readonly problem: string | null;
  /**
   * True: the control plane has reported which policy is current. A heartbeat alone does not confirm the held policy.
   */
  readonly told: boolean;
  close(): void;
}

type PolicyStream = ClientDuplexStream<SyncRequest, SyncResponse__Output>;

const silenceMs = 5 * bounds.heartbeatMs;
const ended = 'the control plane ended the stream';

export function followPolicy(deps: FollowDeps, config: FollowConfig): Follower {
  return new PolicyFollower(deps, config);
}

class PolicyFollower implements Follower {
  readonly #backoff: Backoff;
  // The backoff while no control plane answers. Frequent attempts cause no load then, and a control plane that returns
  // is found within a second.
  readonly #redial: Backoff;
  #isConnected = (): boolean => false;
  // The number of attempts in a row without an answer. Only attempts 1, 2, 4, 8 and so on are logged.
  #unanswered = 0;
  #closed = false;
  #problem: string | null = 'not connected yet';
  #told = false;
  #stream: PolicyStream | null = null;
  // The old stream during a move. It is closed after the next one has answered.
  #leaving: PolicyStream | null = null;
  #timer: NodeJS.Timeout | null = null;
  readonly #deps: FollowDeps;
  readonly #config: FollowConfig;
  readonly #cell: FollowDeps['cell'];
  readonly #channel: FollowDeps['channel'];
  readonly #log: FollowDeps['log'];

  constructor(deps: FollowDeps, config: FollowConfig) {
    const { cell, channel, log } = deps;
    const { first: firstMs, max: maxMs, unreachable: unreachableMs } = bounds.reconnectMs;
    this.#deps = deps;
    this.#config = config;
    this.#cell = cell;
    this.#channel = channel;
    this.#log = log;
    this.#backoff = createBackoff({ random: deps.random, firstMs, maxMs });
    this.#redial = createBackoff({ random: deps.random, firstMs, maxMs: unreachableMs });
    this.#connect();
  }

  get problem(): string | null {
    return this.#problem;
  }

  get told(): boolean {
    return this.#told;
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const open = this.#stream;
    this.#lose(null);
    open?.cancel();
  }

  #lose(error: ServiceError | null, words = ended): void {
    if (this.#stream === null) return;
    const refusedKey = error !== null && (error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED);
    const before = this.#leaving;
    this.#leaving = null;
    if (before !== null && !refusedKey && !this.#closed) {
      // The move failed, so the old stream is used again. It is still open.
      this.#stream = before;
      return this.#watch(before);
    }
    before?.cancel();
    this.#stream = null;
    this.#cell.lost();
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#closed) return;
    this.#problem = error === null ? words : explainLink(error.details || error.message);
    const unreadable = error !== null && isUnreadable(error);
    if (unreadable) this.#cell.malformed(this.#problem);
    if (refusedKey) {
      this.#cell.refuse(this.#problem);
      this.#deps.onRefused();
    }
    // Waits long after a message that cannot be read: it will not be readable soon.
    const answered = this.#isConnected();
    const waitMs =
      refusedKey || unreadable ? barredMs(this.#deps.random, bounds.reconnectMs.max) : (answered ? this.#backoff : this.#redial).next();
    this.#unanswered = answered ? 0 : this.#unanswered + 1;
    if (isPowerOfTwo(this.#unanswered)) this.#log.info({ problem: this.#problem, waitMs: Math.round(waitMs) }, 'policy stream lost');
    this.#timer = setTimeout(() => this.#connect(), waitMs);
    this.#deps.onState();
  }

  // Starts the timer after which the stream counts as lost. `awaits`: a policy is being sent. Nothing else arrives
  // before the policy has arrived, and over a slow line this may take long. Therefore the timer runs longer.
  #watch(opened: PolicyStream, awaits = false): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const patienceMs = awaits ? bounds.answerMs : silenceMs;
    this.#timer = setTimeout(() => {
      if (this.#stream !== opened) return;
      this.#lose(null, `${this.#isConnected() ? 'the control plane sent nothing for' : 'no connection within'} ${patienceMs / 1000} s`);
      opened.cancel();
    }, patienceMs);
  }

  #connect(): void {
    // Each stream has its own connection: a move over the same connection would end at the same control plane.
    const client = createPolicyClient(this.#channel.address, this.#channel.credentials(), ownConnection(this.#channel));
    const opened = client.sync(this.#channel.metadata());
    this.#isConnected = () => client.getChannel().getConnectivityState(false) === connectivityState.READY;
    let stopReporting: (() => void) | null = null;
    opened.on('status', () => {
      stopReporting?.();
      client.close();
    });
    this.#stream = opened;
    let isTold = false;
    opened.on('data', (message: SyncResponse__Output) => {
      if (this.#stream !== opened) return;
      const isPush = message.message === 'snapshot' || message.message === 'delta' || message.message === 'unchanged';
      isTold ||= isPush;
      const newest = message.heartbeat?.current?.number ?? 0;
      this.#watch(opened, !isTold || newest > (this.#cell.current?.revision ?? -1));
      if (this.#problem !== null) {
        this.#log.info({ address: this.#channel.address }, 'policy stream open');
        this.#deps.onOpen();
      }
      this.#problem = null;
      this.#backoff.reset();
      this.#redial.reset();
      this.#unanswered = 0;
      this.#leaving?.end();
      this.#leaving = null;
      stopReporting ??= reportStatus(this.#deps.readStatus, (status) => void opened.write(status));
      if (message.message === 'move') return this.#move(opened);
      if (isPush) this.#told = true;
      receive(this.#deps, message, (answer) => void opened.write(answer));
      this.#deps.onState();
    });
    const over = (error: ServiceError | null): void => {
      if (this.#leaving === opened) this.#leaving = null;
      if (this.#stream === opened) this.#lose(error);
    };
    opened.on('error', over);
    opened.on('end', () => {
      opened.end();
      over(null);
    });
    this.#watch(opened);
    opened.write({ hello: helloOf(this.#cell.current, this.#config) });
  }

  #move(from: PolicyStream): void {
    this.#leaving = from;
    this.#connect();
  }
}

const isPowerOfTwo = (n: number): boolean => (n & (n - 1)) === 0;

/** Returns whether the error is about a message that is not valid, or larger than the limit. */
const isUnreadable = ({ code, details }: ServiceError): boolean =>
  (code === status.INTERNAL && details.startsWith('Response message parsing error')) ||
  (code === status.RESOURCE_EXHAUSTED && details.startsWith('Received message'));

const helloOf = (held: Index | null, { sidecarId, bootId, form }: FollowConfig): NonNullable<SyncRequest['hello']> => ({
  sidecarId: sidecarId,
  bootId: bootId,
  form,
  schemaVersion: snapshotSchemaVersion,
  capabilities: [...capabilities],
  ...(held === null ? {} : { held: { epoch: held.epoch, number: held.revision }, heldHash: held.hash }),
});

function receive(deps: FollowDeps, message: SyncResponse__Output, answer: (request: SyncRequest) => void): void {
  const { cell } = deps;
  switch (message.message) {
    case 'heartbeat': {
      const { current, timeMs = 0 } = message.heartbeat ?? {};
      // A control plane of an earlier version sends no time.
      cell.heard(current?.number ?? null, timeMs === 0 ? undefined : timeMs);
      return;
    }
    case 'snapshot': {
      cell.heard(null);
      const { snapshot } = message;
      if (snapshot != null) answer(taken(deps, 'snapshot', snapshot.revision, cell.offer(snapshot)));
      return;
    }
    case 'delta': {
      cell.heard(null);
      const { delta } = message;
      if (delta != null) answer(taken(deps, 'delta', delta.to, cell.change(delta)));
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

function taken({ log, onTaken }: FollowDeps, what: 'snapshot' | 'delta', revision: RevisionName | null, offered: OfferResult): SyncRequest {
  if (offered.ok) onTaken();
  log.info(
    { revision: revision?.number, ...(offered.ok ? {} : { code: offered.code, message: offered.message }) },
    offered.ok ? `${what} taken` : `${what} refused`,
  );
  return answerTo(revision, offered);
}

const answerTo = (revision: RevisionName | null, offered: OfferResult): SyncRequest =>
  offered.ok ? { ack: { revision, hash: offered.index.hash } } : { nack: { revision, code: offered.code, message: offered.message } };

// Reports the status of a sidecar for operators. It is reported as soon as a stream is accepted. Then it is reported
// whenever it has changed, but at most once every `bounds.statusMs`.

/** Reports the status until the returned function is called. */
function reportStatus(read: () => Status, write: (request: SyncRequest) => void): () => void {
  let told = '';
  const tell = (): void => {
    const status = read();
    const text = JSON.stringify(status);
    if (text === told) return;
    told = text;
    write({ status });
  };
  tell();
  const timer = setInterval(tell, bounds.statusMs);
  timer.unref();
  return () => clearInterval(timer);
}
