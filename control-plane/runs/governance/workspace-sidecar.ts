// A sidecar in this process for the runs of one workspace. It holds the policy that the publisher offers, and leases
// its limits from the ledger of this process. It writes entries to its own spool, which is shipped to the audit log of
// this process. The governor opens it with the first run and closes it when closing loses nothing.
import { hash, randomBytes } from 'node:crypto';
import type { OnRecall, QuotaLink } from '@tollgate/proto/contract';
import {
  adoptDead,
  type Backlog,
  createLeasedCounters,
  createOwedEntries,
  createShipper,
  type DirectBatch,
  diskFs,
  type Governing,
  keepLeases,
  type LeaseStatus,
  openDirectStream,
  openSpool,
  openWithRoom,
  prepareWith,
  randomSpoolId,
  type Shipper,
  type ShipperStatus,
  type SpoolRecord,
} from '@tollgate/sidecar/embed';
import type { AuditBatch, Ingested } from '../../domain/audit/audit-batch.ts';
import { type HeldPolicy, type HeldPolicyDeps, holdPolicy, type WorkspaceRef } from './held-policy.ts';

export interface WorkspaceSidecarDeps extends HeldPolicyDeps {
  /** Commits the new records of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<Ingested>;
  readonly random: () => number;
  readonly newId: () => string;
  readonly openLedger: (holder: OwnHolder, onRecall: OnRecall) => QuotaLink;
}

/** Identifies this process to the ledger. */
interface OwnHolder {
  readonly workspaceId: number;
  readonly keyId: string;
  readonly onlySub: null;
  /** 64 hex digits that are not shared with any other holder. */
  readonly holder: string;
}

export interface WorkspaceSidecarConfig {
  readonly spoolFolder: string;
  readonly spoolBytesMax: number;
  /**
   * How long a call waits, in ms, for calls of a limit that other holders have leased; absent: `bounds.leaseWaitMs`.
   */
  readonly leaseWaitMs?: number;
}

export interface WorkspaceSidecar extends Pick<HeldPolicy, 'state' | 'reached' | 'watch'> {
  readonly governing: Governing;
  /** Drops counts that no limit needs any more. Call it periodically. */
  sweep(): void;
  /** Whether no limit has counts and every entry is shipped. */
  isSettled(): boolean;
  shipping(): ShipperStatus;
  leasing(): LeaseStatus;
  /** Ships entries until the deadline. The rest stays on disk for the next start. */
  close(deadlineMs: number): Promise<void>;
}

const windowSeconds = 60;
/** Leases that are not returned within this time expire. */
const leaseDeadlineMs = 500;
/** How long to wait for free space on a full disk, in ms, while the caller of the run waits. */
const roomMs = 2_000;

export async function openWorkspaceSidecar(
  deps: WorkspaceSidecarDeps,
  { workspaceId, slug }: WorkspaceRef,
  { spoolFolder: folder, spoolBytesMax: bytesMax, leaseWaitMs: waitMs }: WorkspaceSidecarConfig,
): Promise<WorkspaceSidecar> {
  const { clock, log, random } = deps;
  const startShipper = (own: Backlog): Shipper =>
    createShipper(
      {
        clock,
        log,
        random,
        adopt: (max, isLeft) => adoptDead({ clock, log, fs: diskFs, randomId: randomSpoolId }, { folder, workspace: slug, max, isLeft }),
        openStream: () => openDirectStream((batch) => deps.ingest(batchOf(batch, workspaceId))),
        onStatus: () => undefined,
      },
      { sidecarId: 'control-plane', spool: own },
    );
  let shipping: Shipper | undefined;
  const othersBytes = (): number => shipping?.adoptedBytes ?? 0;
  const open = () => openSpool({ clock, log }, { folder, workspace: slug, durability: 'kernel', bytesMax, othersBytes });
  const spool = await openWithRoom({ open, ship: startShipper, clock, log }, roomMs);
  const shipper = startShipper(spool.backlog);
  shipping = shipper;
  const holder = randomBytes(32).toString('hex');
  const leaseKeeper = keepLeases({
    clock,
    random,
    soon: (run) => void setImmediate(run),
    open: ({ opened, recalled }) => {
      // The value from `openLedger` must be returned before `opened` is called.
      queueMicrotask(opened);
      return deps.openLedger({ workspaceId, holder, ...ourselves }, recalled);
    },
    log,
    ...(waitMs === undefined ? {} : { waitMs }),
  });
  const counters = createLeasedCounters(leaseKeeper.leases, windowSeconds);
  const prepare = prepareWith(counters);
  const held = holdPolicy(deps, { workspaceId, slug }, (index) => {
    prepare(index);
    spool.belongTo(index.settings.workspaceId);
    leaseKeeper.leases.policyChanged({ epoch: index.epoch, number: index.revision }, clock.now());
  });
  leaseKeeper.retryNow();
  const owed = createOwedEntries();
  return {
    governing: {
      cell: held.cell,
      counters,
      govern: { cell: held.heardCell, clock, newId: deps.newId, keepInput: true },
      spool,
      durability: 'kernel',
      owed,
      unrecorded: 0,
      unconfirmed: 0,
    },
    get state() {
      return held.state;
    },
    reached: (revision, timeoutMs) => held.reached(revision, timeoutMs),
    watch: (look) => held.watch(look),
    sweep: () => counters.sweep(clock.now()),
    isSettled: () => counters.size === 0 && shipper.status().records === 0,
    shipping: () => shipper.status(),
    leasing: () => leaseKeeper.status(),
    close: async (deadlineMs) => {
      held.release();
      await leaseKeeper.close(Math.min(deadlineMs, leaseDeadlineMs));
      await owed.close();
      await shipper.close({ deadlineMs });
    },
  };
}

/** Replaces the key id, because no key is involved. No key id has this form. */
const ourselves = { keyId: 'control-plane', onlySub: null };

const batchOf = ({ spoolId, spoolSecret, workspaceId, records }: DirectBatch, ofWorkspace: number): AuditBatch => ({
  workspaceId: ofWorkspace,
  spoolId,
  secretHash: hash('sha256', spoolSecret),
  begunFor: workspaceId === '' ? null : workspaceId,
  deliverer: ourselves,
  records: records.map(shipped),
});

const shipped = (record: SpoolRecord): AuditBatch['records'][number] =>
  'entry' in record
    ? { sequence: record.sequence, content: { entry: record.entry } }
    : { sequence: record.sequence, content: { lost: record.lost.reason, last: record.lost.last } };
