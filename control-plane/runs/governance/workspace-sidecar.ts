// A sidecar in this process, for the runs of one workspace: it holds the policy that the publisher offers, leases its limits from the
// ledger of this same process, and writes entries to a spool of its own, which is shipped to the audit log of this same process. The governor opens it with
// the first run and closes it when nothing of it would be missed.
import { hash, randomBytes } from 'node:crypto';
import type { OnRecall, QuotaLink } from '@tollgate/proto/contract';
import {
  createPolicyCell,
  type DirectBatch,
  type Governing,
  type LeaseStatus,
  openDirectStream,
  openEngine,
  type ShipperStatus,
  type SpoolRecord,
} from '@tollgate/sidecar/embed';
import type { AuditBatch, Ingested } from '../../domain/audit/audit-batch.ts';
import { type HeldPolicy, type HeldPolicyDeps, heardCell, holdPolicy, type WorkspaceRef } from './held-policy.ts';

export interface WorkspaceSidecarDeps extends HeldPolicyDeps {
  /** Commits what is new of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<Ingested>;
  readonly random: () => number;
  readonly newId: () => string;
  readonly openLedger: (holder: OwnHolder, onRecall: OnRecall) => QuotaLink;
}

/** This process, as the ledger knows who asks. */
interface OwnHolder {
  readonly workspaceId: number;
  readonly keyId: string;
  readonly onlySub: null;
  /** 64 hex digits that nobody else is told. */
  readonly holder: string;
}

export interface WorkspaceSidecarConfig {
  readonly spoolFolder: string;
  readonly spoolBytesMax: number;
  /** How long a call waits for calls of a limit that others hold, in ms; absent: `bounds.leaseWaitMs`. */
  readonly leaseWaitMs?: number;
}

export interface WorkspaceSidecar extends Pick<HeldPolicy, 'state' | 'reached' | 'watch'> {
  readonly governing: Governing;
  /** Forgets what no limit counts any more. Call now and then. */
  sweep(): void;
  /** Nothing is counted, and every entry is shipped. */
  isSettled(): boolean;
  shipping(): ShipperStatus;
  leasing(): LeaseStatus;
  /** Ships what it can until then; the rest waits on disk for the next start. */
  close(deadlineMs: number): Promise<void>;
}

/** How long a full disk may take to have room, while who began a run waits. */
const diskWaitMs = 2_000;

export async function openWorkspaceSidecar(
  deps: WorkspaceSidecarDeps,
  { workspaceId, slug }: WorkspaceRef,
  { spoolFolder: folder, spoolBytesMax, leaseWaitMs }: WorkspaceSidecarConfig,
): Promise<WorkspaceSidecar> {
  const { clock, log } = deps;
  const cell = createPolicyCell(clock, slug);
  const holder = randomBytes(32).toString('hex');
  const engine = await openEngine({
    clock,
    log,
    random: deps.random,
    newId: deps.newId,
    policy: cell,
    seen: heardCell(cell, deps),
    quota: ({ opened, recalled }) => {
      // What it is opened with is known once it has been opened.
      queueMicrotask(opened);
      return deps.openLedger({ workspaceId, holder, ...ourselves }, recalled);
    },
    audit: () => openDirectStream((batch) => deps.ingest(batchOf(batch, workspaceId))),
    folder,
    workspace: slug,
    durability: 'kernel',
    spoolBytesMax,
    diskWaitMs,
    sidecarId: 'control-plane',
    keepInput: true,
    ...(leaseWaitMs === undefined ? {} : { leaseWaitMs }),
  });
  const { counters, govern, spool, durability, owed } = engine;
  const held = holdPolicy(deps, { workspaceId, slug }, cell);
  return {
    governing: { cell, counters, govern, spool, durability, owed, unrecorded: 0, unconfirmed: 0 },
    get state() {
      return held.state;
    },
    reached: (revision, timeoutMs) => held.reached(revision, timeoutMs),
    watch: (look) => held.watch(look),
    sweep: () => engine.sweep(),
    isSettled: () => engine.isSettled,
    shipping: () => engine.shipping(),
    leasing: () => engine.leasing.status(),
    close: async (deadlineMs) => {
      held.release();
      await engine.close(deadlineMs);
    },
  };
}

/** Stands for a key, where none is: no id of a key has its form. */
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
