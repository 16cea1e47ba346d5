// Builds a sidecar: the common part of the library and the process. It reads nothing from the environment.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createAuditClient, type Status } from '@tollgate/proto';
import { AppError, nameProblem, parseKey } from '@tollgate/proto/contract';
import { systemClock } from '../base/clock.ts';
import { type Engine, type EngineOptions, openEngine } from '../engine/engine.ts';
import type { Log } from '../base/log.ts';
import type { Sidecar } from '../doors/sidecar.ts';
import { createPolicyCell, type PolicyCell } from '../engine/snapshot/cell.ts';
import { holdsKey } from '../engine/snapshot/holds-key.ts';
import { createClockWatch } from '../engine/snapshot/plane-time.ts';
import { keepOnDisk } from '../engine/snapshot/keep.ts';
import type { SnapshotMessage } from '../engine/snapshot/verify.ts';
import type { Durability } from '../engine/spool/append.ts';
import { openApprovalStream } from '../engine/link/approval-stream.ts';
import { type Channel, createChannel, hostOf } from '../engine/link/channel.ts';
import { followPolicy } from '../engine/link/follow.ts';
import { endTogether, ownConnection } from '../engine/link/own-connection.ts';
import { openQuotaStream } from '../engine/link/quota-stream.ts';
import { openCredentials } from '../engine/link/tls/open-credentials.ts';
import type { LinkTls } from '../engine/link/tls/options.ts';
import { readVersion } from '../base/version.ts';
import { Readiness } from './readiness.ts';

export interface SidecarOptions {
  readonly form: 'process' | 'library';
  /** The control plane's gRPC address, `host:port`. */
  readonly controlPlane: string;
  readonly key: string;
  /** Whether plain text is permitted beyond loopback. */
  readonly plaintext: boolean;
  /**
   * Absent or null: beyond loopback, the sidecar uses TLS with the authorities of its machine and presents no
   * certificate.
   */
  readonly tls?: LinkTls | null;
  readonly spoolDir: string;
  readonly durability: Durability;
  readonly spoolBytesMax: number;
  /**
   * How long a call waits, in ms, while other processes hold the remaining calls of a limit. Absent:
   * `bounds.leaseWaitMs`.
   */
  readonly leaseWaitMs?: number;
  readonly keepInput: boolean;
  readonly sidecarId: string | null;
  readonly log: Log;
}

const sweepMs = 10_000;
const closeDeadlineMs = 5_000;
/** How long the sidecar waits until a full disk has free space. */
const diskWaitMs = 10_000;

export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { form, log } = options;
  const { workspace, sidecarId } = checkedNames(options);
  const clock = systemClock;
  const folder = resolve(options.spoolDir);
  const linkCredentials =
    options.tls == null ? null : await openCredentials({ clock, random: Math.random, log }, options.tls, { key: options.key, folder });
  const channel = createChannel({ ...options, linkCredentials });
  const cell = createPolicyCell(clock, workspace);
  const engine = await openEngine(engineOptions(options, { workspace, sidecarId, folder, channel, cell })).catch((cause: unknown) => {
    void linkCredentials?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError({ code: 'unavailable', publicMessage: `a spool cannot be created in ${folder}: ${why}`, cause });
  });
  const sweeper = setInterval(() => engine.sweep(), sweepMs);
  sweeper.unref();
  // The snapshot file of a library has a digest of the key in its name, so it always belongs to this key. The snapshot
  // of a process must contain the key.
  const isOurs = (message: SnapshotMessage): boolean => form === 'library' || holdsKey(message, options.key, clock.wallTime());
  const keeper = await keepOnDisk({ cell, clock, log, isOurs }, join(folder, snapshotName(options, workspace)));
  const readiness = new Readiness({
    cell,
    clock,
    leasing: engine.leasing,
    spool: engine.spool,
    linkCredentials,
    controlPlane: options.controlPlane,
  });
  const close = async (deadlineMs = closeDeadlineMs): Promise<void> => {
    clearInterval(sweeper);
    readiness.follower.close();
    await engine.close(deadlineMs);
    await linkCredentials?.close();
    await keeper.close();
  };
  const sidecar = sidecarOf({ cell, engine, readiness, linkCredentials, close });
  const version = readVersion();
  const watchClock = createClockWatch({ cell, clock, log });
  readiness.follower = followPolicy(
    {
      cell,
      channel,
      random: Math.random,
      log,
      onTaken: () => keeper.save(),
      readStatus: () => statusOf(sidecar, version),
      onRefused: () => keeper.drop(),
      // The control plane is available again, so retries that wait for their backoff start now.
      onOpen: () => engine.retryNow(),
      onState: () => {
        watchClock();
        readiness.changed();
      },
    },
    { sidecarId, bootId: randomBytes(8).toString('hex'), form: form === 'process' ? 'FORM_PROCESS' : 'FORM_LIBRARY' },
  );
  // Without a certificate there is no connection, so no stream can report that the key is refused. This code reports it
  // instead.
  const onCredentials = (): void => {
    if (linkCredentials?.keyRefused === true) {
      cell.refuse(linkCredentials.problem ?? 'the control plane issues no certificate for this key');
      keeper.drop();
    }
    readiness.changed();
  };
  linkCredentials?.onChange(onCredentials);
  onCredentials();
  return sidecar;
}

/**
 * Checks names in the options first. A problem is found before anything is started that would have to be stopped again.
 */
function checkedNames({ key, sidecarId, controlPlane }: SidecarOptions): { readonly workspace: string; readonly sidecarId: string } {
  const workspace = parseKey(key)?.workspace;
  if (workspace === undefined)
    throw new AppError({ code: 'bad_request', publicMessage: 'the key must have the form gsk_<workspace>_<random>' });
  const name = sidecarId ?? `${hostname()}-${process.pid}`;
  const problem = nameProblem(name);
  if (problem !== null) throw new AppError({ code: 'bad_request', publicMessage: `the name of the sidecar ${problem}` });
  hostOf(controlPlane);
  return { workspace, sidecarId: name };
}

interface EngineParts {
  readonly workspace: string;
  readonly sidecarId: string;
  readonly folder: string;
  readonly channel: Channel;
  readonly cell: PolicyCell;
}

function engineOptions(options: SidecarOptions, { workspace, sidecarId, folder, channel, cell }: EngineParts): EngineOptions {
  return {
    clock: systemClock,
    log: options.log,
    random: Math.random,
    newId: randomUUID,
    policy: cell,
    quota: (holderSecret) => openQuotaStream(channel, { sidecarId, holderSecret }),
    approvals: openApprovalStream(channel, { sidecarId }),
    audit: () => {
      const client = createAuditClient(channel.address, channel.credentials(), ownConnection(channel));
      return endTogether(client, client.ship(channel.metadata()));
    },
    folder,
    workspace,
    durability: options.durability,
    spoolBytesMax: options.spoolBytesMax,
    diskWaitMs,
    sidecarId,
    keepInput: options.keepInput,
    ...(options.leaseWaitMs === undefined ? {} : { leaseWaitMs: options.leaseWaitMs }),
  };
}

interface SidecarParts extends Pick<Sidecar, 'linkCredentials' | 'close'> {
  readonly cell: PolicyCell;
  readonly engine: Engine;
  readonly readiness: Readiness;
}

function sidecarOf({ cell, engine, readiness, linkCredentials, close }: SidecarParts): Sidecar {
  return {
    cell,
    counters: engine.counters,
    govern: engine.govern,
    spool: engine.spool,
    durability: engine.durability,
    owed: engine.owed,
    unrecorded: 0,
    unconfirmed: 0,
    shipping: () => engine.shipping(),
    leasing: engine.leasing,
    approvals: engine.approvals,
    linkCredentials,
    get outageDecisions() {
      return engine.outageDecisions;
    },
    notReady: () => readiness.notReady(),
    ready: (timeoutMs) => readiness.ready(timeoutMs),
    close,
  };
}

/** Returns the status that the sidecar reports to the control plane. */
function statusOf(sidecar: Sidecar, version: string): Status {
  const { records, bytes, oldestAgeMs, refusedSpools, refusedRecords } = sidecar.shipping();
  const { unrecorded, outageDecisions } = sidecar;
  const ofSpool = { spoolRecords: records, spoolBytes: bytes, spoolAgeMs: Math.round(oldestAgeMs) };
  const { clockAheadMs } = sidecar.cell.status();
  // Seconds, so that a change of some ms is no new status.
  const clock = clockAheadMs === null ? {} : { clock: { aheadSeconds: Math.round(clockAheadMs / 1000) } };
  return { ...ofSpool, refusedSpools, refusedRecords, unrecorded, outageDecisions, version, ...clock };
}

/**
 * Returns the name of the snapshot file. Each view of the policy has its own file: the view of a library depends on its
 * key, and the view of a process does not.
 */
function snapshotName({ form, key }: SidecarOptions, workspace: string): string {
  const view = form === 'process' ? 'process' : createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `snapshot-${workspace}-${view}`;
}
