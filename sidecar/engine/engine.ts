// The engine governs calls, wherever it runs. It decides by the policy in `policy`, leases limits from a ledger, writes
// an entry of every decision to a spool, and ships the spool to an audit log. A sidecar opens an engine that uses its
// connection to the control plane. A control plane opens one for the runs of a workspace, which uses the ledger and the
// audit log of its own process.
import { hash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { GovernDeps, Governing } from './govern/governing.ts';
import { createOwedEntries } from './govern/owed-entries.ts';
import { prepareWith } from './govern/prepare.ts';
import { createLeasedCounters } from './limits/leased-counters.ts';
import type { Log } from '../base/log.ts';
import { openWhenFull } from './ship/open-when-full.ts';
import type { ShipStream } from './ship/shipment.ts';
import { createShipper, type Shipper, type ShipperStatus } from './ship/shipper.ts';
import type { PolicyCell } from './snapshot/cell.ts';
import { type AdoptionDeps, adoptDead } from './spool/adoption.ts';
import type { Durability } from './spool/append.ts';
import type { Backlog } from './spool/backlog.ts';
import { openSpool, randomSpoolId, type Spool } from './spool/spool.ts';
import { diskFs } from './spool/spool-fs.ts';
import { type ApprovalKeeper, keepApprovals } from './approvals/approval-keeper.ts';
import type { OpenApprovals } from './approvals/asked-link.ts';
import { LeftUsesReporter } from './link/left-uses.ts';
import { keepLeases, type LeaseKeeper, type OpenQuota } from './link/lease-keeper.ts';

export interface EngineOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly newId: () => string;
  /** Holds the policy. It must not receive a policy before the engine is open. */
  readonly policy: PolicyCell;
  /** The policy that calls use. Absent: `policy` itself. */
  readonly seen?: GovernDeps['cell'];
  /** Returns how to open a link to the ledger of limits, as the holder with this secret of 32 bytes. */
  readonly quota: (holderSecret: Buffer) => OpenQuota;
  /** Opens a link to the ledger of approvals. Absent: no one can be asked, so calls that policy asks for are denied. */
  readonly approvals?: OpenApprovals;
  /** Opens a stream to the audit log. */
  readonly audit: () => ShipStream;
  /** The folder of the spool. */
  readonly folder: string;
  /** The slug of the workspace. */
  readonly workspace: string;
  readonly durability: Durability;
  /** The maximum size of the spool on disk, in bytes, including the spools of earlier processes. */
  readonly spoolBytesMax: number;
  /** How long `openEngine` waits for space on a full disk, in ms. */
  readonly diskWaitMs: number;
  /** The name of this process in the audit log. */
  readonly sidecarId: string;
  /** Whether entries keep inputs, or only their digests. */
  readonly keepInput: boolean;
  /** How long a call waits for calls of a limit that other processes hold, in ms. Absent: `bounds.leaseWaitMs`. */
  readonly leaseWaitMs?: number;
}

export interface Engine extends Pick<Governing, 'counters' | 'govern' | 'durability' | 'owed'> {
  readonly spool: Pick<Spool, 'append' | 'appendAsync' | 'failure'>;
  readonly leasing: Pick<LeaseKeeper, 'status' | 'onWaited' | 'onOpened'>;
  /** Null: no one can be asked. */
  readonly approvals: Pick<ApprovalKeeper, 'status' | 'drain'> | null;
  /** The number of decisions by a policy that is older than the outage rule of the workspace allows. */
  readonly outageDecisions: number;
  shipping(): ShipperStatus;
  /** True: no limit counts any call, and every entry has been shipped. */
  readonly isSettled: boolean;
  /** Removes counts that no limit needs any more. Call it every ten seconds. */
  sweep(): void;
  /** Connects to the ledger and the audit log at once, without waiting for the backoff. */
  retryNow(): void;
  /** Ships as many entries as possible within the deadline. The rest stays on disk for a later process. */
  close(deadlineMs: number): Promise<void>;
}

/** The window of shadow limits, in seconds, until the first policy sets another length. */
const windowSeconds = 60;
/** The maximum time to return leases when the engine closes. A lease that is not returned expires by itself. */
const leaseDeadlineMs = 500;

/**
 * Returns the secret of the holder of grants. It is made of the secret of the process's spool, so that the process that
 * adopts the spool can return the grants.
 */
const holderSecretOf = (spoolSecret: Buffer): Buffer =>
  hash('sha256', Buffer.concat([Buffer.from('holder of grants\n'), spoolSecret]), 'buffer');

/** Opens an engine with its spool. Rejects if no spool can be opened. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { clock, log, random, policy, folder, workspace, durability, sidecarId, leaseWaitMs: waitMs } = options;
  const leftUses = new LeftUsesReporter({ clock, random, log });
  const settle: AdoptionDeps['settle'] = (secret, read) => leftUses.report(options.quota(holderSecretOf(secret)), read);
  const startShipper = (own: Backlog): Shipper =>
    createShipper(
      {
        clock,
        log,
        random,
        adopt: (max, isLeft) => adoptDead({ clock, log, fs: diskFs, randomId: randomSpoolId, settle }, { folder, workspace, max, isLeft }),
        openStream: options.audit,
        onStatus: () => undefined,
      },
      { sidecarId, spool: own, isAwaited: durability === 'remote' },
    );
  let started: Shipper | null = null;
  const othersBytes = (): number => started?.adoptedBytes ?? 0;
  const open = () => openSpool({ clock, log }, { folder, workspace, durability, bytesMax: options.spoolBytesMax, othersBytes });
  const spool = await openWhenFull({ clock, log, open, ship: startShipper }, options.diskWaitMs);
  const shipper = startShipper(spool.backlog);
  started = shipper;
  const leaseKeeper = keepLeases({
    clock,
    random,
    soon: (run) => void setImmediate(run),
    open: options.quota(holderSecretOf(spool.backlog.owned.secret)),
    log,
    ...(waitMs === undefined ? {} : { waitMs }),
  });
  const counters = createLeasedCounters(leaseKeeper.leases, windowSeconds);
  spool.grants.follow(leaseKeeper.leases);
  policy.onSwap(prepareWith(counters));
  policy.onSwap(({ settings }) => spool.belongTo(settings.workspaceId));
  policy.onSwap(({ settings }) => spool.grants.want(settings.auditUnavailable === 'deny'));
  policy.onSwap(({ epoch, revision }) => leaseKeeper.leases.policyChanged({ epoch, number: revision }, clock.now()));
  leaseKeeper.retryNow();
  let outageDecisions = 0;
  const onOutage = (): void => {
    outageDecisions += 1;
  };
  const owed = createOwedEntries();
  const approvals = options.approvals === undefined ? null : keepApprovals({ clock, random, log, open: options.approvals });
  const { newId, keepInput } = options;
  const cell = options.seen ?? policy;
  return {
    counters,
    govern: { cell, clock, newId, keepInput, onOutage, ...(approvals === null ? {} : { approvals }) },
    spool,
    durability,
    owed,
    leasing: leaseKeeper,
    approvals,
    get outageDecisions() {
      return outageDecisions;
    },
    shipping: () => shipper.status(),
    get isSettled() {
      return counters.size === 0 && shipper.status().records === 0;
    },
    sweep: () => counters.sweep(clock.now()),
    retryNow: () => {
      shipper.retryNow();
      leftUses.retryNow();
      leaseKeeper.retryNow();
      approvals?.retryNow();
    },
    close: async (deadlineMs) => {
      leftUses.close();
      approvals?.close();
      await leaseKeeper.close(Math.min(deadlineMs, leaseDeadlineMs));
      await owed.close();
      await shipper.close({ deadlineMs });
    },
  };
}
