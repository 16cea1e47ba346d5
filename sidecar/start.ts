// Builds a sidecar: the common part of the library and the process. It reads nothing from the environment.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createAuditClient } from '@tollgate/proto';
import { AppError, nameProblem, parseKey } from '@tollgate/proto/contract';
import { systemClock } from './clock.ts';
import { createOwedEntries } from './govern/owed-entries.ts';
import { prepareWith } from './govern/prepare.ts';
import { openCredentials } from './tls/open-credentials.ts';
import type { LinkTls } from './tls/options.ts';
import { createLeasedCounters } from './limits/leased-counters.ts';
import type { Log } from './log.ts';
import { openWithRoom } from './ship/make-room.ts';
import type { ShipStream } from './ship/shipment.ts';
import { createShipper, type Shipper } from './ship/shipper.ts';
import type { Sidecar } from './sidecar.ts';
import { createPolicyCell } from './snapshot/cell.ts';
import { holdsKey } from './snapshot/holds-key.ts';
import { keepOnDisk } from './snapshot/keep.ts';
import type { SnapshotMessage } from './snapshot/verify.ts';
import { adoptDead } from './spool/adoption.ts';
import type { Durability } from './spool/append.ts';
import type { Backlog } from './spool/backlog.ts';
import { openSpool, randomSpoolId } from './spool/spool.ts';
import { diskFs } from './spool/spool-fs.ts';
import { createChannel, hostOf } from './sync/channel.ts';
import { followPolicy } from './sync/follow.ts';
import { keepLeases } from './sync/lease-keeper.ts';
import { endTogether, ownConnection } from './sync/own-connection.ts';
import { openQuotaStream } from './sync/quota-stream.ts';
import { readVersion } from './version.ts';

export interface SidecarOptions {
  readonly form: 'process' | 'library';
  /** `host:port` of the control plane's gRPC. */
  readonly controlPlane: string;
  readonly key: string;
  /** Plain text beyond loopback. */
  readonly plaintext: boolean;
  /** Absent or null: TLS beyond loopback with the machine's own authorities, and no certificate of this sidecar. */
  readonly tls?: LinkTls | null;
  readonly spoolDir: string;
  readonly durability: Durability;
  readonly spoolBytesMax: number;
  /** How long a call waits for calls of a limit that other processes hold, in ms. Absent: `bounds.leaseWaitMs`. */
  readonly leaseWaitMs?: number;
  readonly keepInput: boolean;
  readonly sidecarId: string | null;
  readonly log: Log;
}

const sweepMs = 10_000;
const closeDeadlineMs = 5_000;
/** The maximum wait for a full disk to have free space. */
const roomMs = 10_000;
/** Leases that are not given back by then expire. */
const leaseDeadlineMs = 500;

export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { form, log, durability } = options;
  const workspace = parseKey(options.key)?.workspace;
  if (workspace === undefined)
    throw new AppError({ code: 'bad_request', publicMessage: 'the key must have the form gsk_<workspace>_<random>' });
  const sidecarId = options.sidecarId ?? `${hostname()}-${process.pid}`;
  const unnamed = nameProblem(sidecarId);
  if (unnamed !== null) throw new AppError({ code: 'bad_request', publicMessage: `the name of the sidecar ${unnamed}` });
  // The check runs before anything is started that would have to be stopped.
  hostOf(options.controlPlane);
  const clock = systemClock;
  const folder = resolve(options.spoolDir);
  const linkCredentials =
    options.tls == null ? null : await openCredentials({ clock, random: Math.random, log }, options.tls, { key: options.key, folder });
  const channel = createChannel({ ...options, linkCredentials });
  const cell = createPolicyCell(clock, workspace);
  const bootId = randomBytes(8).toString('hex');
  const leaseKeeper = keepLeases({
    clock,
    random: Math.random,
    soon: (run) => void setImmediate(run),
    open: openQuotaStream(channel, { sidecarId, holderSecret: randomBytes(32) }),
    log,
    ...(options.leaseWaitMs === undefined ? {} : { waitMs: options.leaseWaitMs }),
  });
  const counters = createLeasedCounters(leaseKeeper.leases, 60);
  cell.onSwap(prepareWith(counters));
  cell.onSwap(({ epoch, revision }) => leaseKeeper.leases.policyChanged({ epoch, number: revision }, clock.now()));
  const sweeper = setInterval(() => counters.sweep(clock.now()), sweepMs);
  sweeper.unref();

  const audit = { clock, log };
  const openAudit = (): ShipStream => {
    const client = createAuditClient(channel.address, channel.credentials(), ownConnection(channel));
    return endTogether(client, client.ship(channel.metadata()));
  };
  const startShipper = (own: Backlog): Shipper =>
    createShipper(
      {
        ...audit,
        adopt: (max, isLeft) => adoptDead({ ...audit, fs: diskFs, randomId: randomSpoolId }, { folder, workspace, max, isLeft }),
        random: Math.random,
        openStream: openAudit,
        onStatus: () => undefined,
      },
      { sidecarId, spool: own, isAwaited: durability === 'remote' },
    );
  let shipping: Shipper | undefined;
  const othersBytes = (): number => shipping?.adoptedBytes ?? 0;
  const open = () => openSpool(audit, { folder, workspace, durability, bytesMax: options.spoolBytesMax, othersBytes });
  const spool = await openWithRoom({ ...audit, open, ship: startShipper }, roomMs).catch((cause: unknown) => {
    clearInterval(sweeper);
    void linkCredentials?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new AppError({ code: 'unavailable', publicMessage: `no spool can be made in ${folder}: ${why}`, cause });
  });
  cell.onSwap(({ settings }) => spool.belongTo(settings.workspaceId));
  // The snapshot file of a library is identified by its key in the file name.
  const isOurs = (message: SnapshotMessage): boolean => form === 'library' || holdsKey(message, options.key, clock.wall());
  const keeper = await keepOnDisk({ cell, clock, log, isOurs }, join(folder, snapshotName(options, workspace)));
  const shipper = startShipper(spool.backlog);
  shipping = shipper;
  const listeners = new Set<() => void>();
  const version = readVersion();
  const follower = followPolicy(
    {
      cell,
      channel,
      random: Math.random,
      log,
      onTaken: () => keeper.save(),
      readStatus: () => {
        const { records, bytes, oldestAgeMs, refusedSpools, refusedRecords } = shipper.status();
        const { unrecorded, outageDecisions } = sidecar;
        const ofSpool = { spoolRecords: records, spoolBytes: bytes, spoolAgeMs: Math.round(oldestAgeMs) };
        return { ...ofSpool, refusedSpools, refusedRecords, unrecorded, outageDecisions, version };
      },
      onRefused: () => keeper.drop(),
      // The control plane is available again, so the backoff waits are ended.
      onOpen: () => {
        shipper.retryNow();
        leaseKeeper.retryNow();
      },
      onState: () => {
        for (const listener of listeners) listener();
      },
    },
    { sidecarId, bootId, form: form === 'process' ? 'FORM_PROCESS' : 'FORM_LIBRARY' },
  );

  leaseKeeper.retryNow();
  // Without a certificate there is no connection that could report a refused key, or anything else.
  const onCredentials = (): void => {
    if (linkCredentials?.keyRefused === true) {
      cell.refuse(linkCredentials.problem ?? 'no certificate is issued for it');
      keeper.drop();
    }
    for (const listener of listeners) listener();
  };
  linkCredentials?.onChange(onCredentials);
  onCredentials();
  const linkProblem = (): string | null => {
    if (follower.problem === null || linkCredentials === null) return follower.problem;
    const isGood = linkCredentials.current !== null && (linkCredentials.expiresAt ?? Number.POSITIVE_INFINITY) > clock.wall();
    return isGood ? follower.problem : (linkCredentials.problem ?? follower.problem);
  };

  const held = (): boolean => cell.current !== null;
  const ready = (timeoutMs: number): Promise<void> =>
    new Promise((done, fail) => {
      const settle = (): void => {
        // When the control plane has reported what is current, or cannot be reached, no better policy than the held one
        // is available.
        const problem = linkProblem();
        const awaited = !follower.told && (problem === null || problem === 'not connected yet');
        if (!held() || awaited) return;
        stop();
        done();
      };
      const timer = setTimeout(() => {
        stop();
        if (held()) done();
        else
          fail(
            new AppError({
              code: 'unavailable',
              publicMessage: `no policy from ${options.controlPlane} within ${timeoutMs} ms: ${linkProblem() ?? 'the stream is open but silent'}`,
            }),
          );
      }, timeoutMs);
      const stop = (): void => {
        clearTimeout(timer);
        listeners.delete(settle);
      };
      listeners.add(settle);
      settle();
    });

  let outageDecisions = 0;
  const onOutage = (): void => {
    outageDecisions += 1;
  };
  const owed = createOwedEntries();
  const sidecar: Sidecar = {
    cell,
    counters,
    govern: { cell, clock, newId: randomUUID, keepInput: options.keepInput, onOutage },
    spool,
    durability,
    owed,
    unrecorded: 0,
    unconfirmed: 0,
    shipping: () => shipper.status(),
    leasing: leaseKeeper,
    linkCredentials,
    get outageDecisions() {
      return outageDecisions;
    },
    notReady: () => {
      return [
        ...(held() ? [] : [`no policy is held: ${linkProblem() ?? 'none was received'}`]),
        ...(cell.refused === null ? [] : [`the control plane refuses the key: ${cell.refused}`]),
        ...(spool.failure === undefined ? [] : [`the spool cannot be written: ${spool.failure}`]),
      ];
    },
    ready,
    close: async (deadlineMs = closeDeadlineMs) => {
      clearInterval(sweeper);
      follower.close();
      await leaseKeeper.close(Math.min(deadlineMs, leaseDeadlineMs));
      await owed.close();
      await shipper.close({ deadlineMs });
      await linkCredentials?.close();
      await keeper.close();
    },
  };
  return sidecar;
}

/** One file for each view: the view of a library depends on its key, and that of a process does not. */
function snapshotName({ form, key }: SidecarOptions, workspace: string): string {
  const view = form === 'process' ? 'process' : createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `snapshot-${workspace}-${view}`;
}
