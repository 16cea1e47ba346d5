// A sidecar in this process for the runs of one workspace. It holds the policy that the publisher offers, and leases
// its limits from the ledger of this process. It writes entries to its own spool, which is shipped to the audit log of
// this process. The governor opens it for the first run, and closes it when no counts and no entries would be lost.
import { hash } from 'node:crypto';
import type { ApprovalLink, OnDecided, OnRecall, QuotaLink } from '@tollgate/proto/contract';
import {
  createPolicyCell,
  type DirectBatch,
  type Governing,
  type LeaseStatus,
  openDirectStream,
  openEngine,
  type ShipperStatus,
  type SpoolRecord,
} from '@tollgate/sidecar/engine';
import { type AuditBatch, type IngestResult, measureRecords, type ShippedRecord } from '../../audit/rules/audit-batch.ts';
import { type HeldPolicy, type HeldPolicyDeps, heardCell, holdPolicy, type WorkspaceRef } from './held-policy.ts';

export interface WorkspaceSidecarDeps extends HeldPolicyDeps {
  /** Commits the new records of a batch. */
  readonly ingest: (batch: AuditBatch) => Promise<IngestResult>;
  readonly random: () => number;
  readonly newId: () => string;
  readonly openLedger: (holder: OwnHolder, onRecall: OnRecall) => QuotaLink;
  /** Absent: no one can be asked, so calls that policy asks for are denied. */
  readonly openApprovals?: (workspaceId: number, onDecided: OnDecided) => ApprovalLink;
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
   * How long a call waits, in ms, when other holders have leased the remaining calls of a limit; absent:
   * `bounds.leaseWaitMs`.
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
  /** From now on, no call is held until a person has answered. Those that are held now are answered. */
  drain(): void;
  /** Ships entries until the deadline. The rest stays on disk for the next start. */
  close(deadlineMs: number): Promise<void>;
}

/** How long to wait for free space on a full disk, in ms. The caller of the run waits during this time. */
const diskWaitMs = 2_000;

export async function openWorkspaceSidecar(
  deps: WorkspaceSidecarDeps,
  { workspaceId, slug }: WorkspaceRef,
  { spoolFolder: folder, spoolBytesMax, leaseWaitMs }: WorkspaceSidecarConfig,
): Promise<WorkspaceSidecar> {
  const { clock, log, openApprovals } = deps;
  const cell = createPolicyCell(clock, slug);
  const engine = await openEngine({
    clock,
    log,
    random: deps.random,
    newId: deps.newId,
    policy: cell,
    seen: heardCell(cell, deps),
    quota:
      (holderSecret) =>
      ({ opened, recalled }) => {
        // The value from `openLedger` must be returned before `opened` is called.
        queueMicrotask(opened);
        return deps.openLedger({ workspaceId, holder: hash('sha256', holderSecret), ...ourselves }, recalled);
      },
    ...(openApprovals === undefined
      ? {}
      : {
          approvals: ({ opened, decided }) => {
            queueMicrotask(opened);
            return openApprovals(workspaceId, decided);
          },
        }),
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
    drain: () => engine.approvals?.drain(),
    close: async (deadlineMs) => {
      held.release();
      await engine.close(deadlineMs);
    },
  };
}

/** Used in place of the id of a key, because this process has no key. No id of a key has this form. */
const ourselves = { keyId: 'control-plane', onlySub: null };

function batchOf({ spoolId, spoolSecret, workspaceId, records: sent }: DirectBatch, ofWorkspace: number): AuditBatch {
  const records = sent.map(shipped);
  return {
    workspaceId: ofWorkspace,
    spoolId,
    secretHash: hash('sha256', spoolSecret),
    begunFor: workspaceId === '' ? null : workspaceId,
    deliverer: ourselves,
    // A direct stream commits one batch after the other.
    canWait: false,
    records,
    ...measureRecords(records),
  };
}

const shipped = (record: SpoolRecord): ShippedRecord =>
  'entry' in record
    ? { sequence: record.sequence, content: { entry: record.entry } }
    : { sequence: record.sequence, content: { lost: record.lost.reason, last: record.lost.last } };
