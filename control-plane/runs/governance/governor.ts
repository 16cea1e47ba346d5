// The sidecars of this process, one for each workspace with runs under way or hooks that were asked. Each is kept while it is used, and after that until
// its limits have nothing counted and its entries are shipped, so that a pause between two runs forgets nothing.
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@tollgate/proto/contract';
import { type LeaseStatus, listSpools, makeFolder, type ShipperStatus } from '@tollgate/sidecar/embed';
import type { Actor } from '../../domain/access/actor.ts';
import type { WorkspaceRef } from './held-policy.ts';
import {
  openWorkspaceSidecar,
  type WorkspaceSidecar,
  type WorkspaceSidecarConfig,
  type WorkspaceSidecarDeps,
} from './workspace-sidecar.ts';

export interface GovernorDeps extends WorkspaceSidecarDeps {
  /** Null where no workspace has that slug. */
  readonly findWorkspace: (slug: string) => Promise<number | null>;
}

/** A workspace's sidecar, while it is used. */
interface Lease {
  readonly sidecar: WorkspaceSidecar;
  release(): void;
}

export interface Governor {
  /**
   * Policy is held that is no older than what the caller was recognised by. Rejects with `AppError`. `keptMs`: for how long from now
   * it is not to be closed, whatever is settled: something besides it is counted over it.
   */
  lease(actor: Pick<Actor, 'workspaceId' | 'slug' | 'revision'>, options?: { readonly keptMs?: number }): Promise<Lease>;
  /** Ships what an earlier process of this folder left behind. Call once, at the start. */
  adopt(): Promise<void>;
  /** By slug. */
  shipping(): ReadonlyMap<string, ShipperStatus>;
  leasing(): readonly LeaseStatus[];
  /** Decisions whose entries could not be written, of all that were ever open. */
  readonly unrecorded: number;
  /** So many more, which none of them was asked to write. */
  countUnrecorded(entries: number): void;
  /** Calls denied because a lease had run dry, of them too. */
  readonly dryDenials: number;
  close(deadlineMs: number): Promise<void>;
}

interface Seat {
  readonly slug: string;
  readonly opening: Promise<WorkspaceSidecar>;
  sidecar: WorkspaceSidecar | null;
  users: number;
  /** On the clock. */
  keptUntil: number;
}

const sweepMs = 10_000;
const policyTimeoutMs = 10_000;
const retireDeadlineMs = 1_000;

export function createGovernor(deps: GovernorDeps, config: WorkspaceSidecarConfig): Governor {
  const seats = new Map<number, Seat>();
  // A sidecar outlives the run that opens it, and what it says is no part of that one's trace.
  const outsideOfRuns = AsyncLocalStorage.snapshot();
  const { clock, log } = deps;
  /** Of sidecars that were closed: what only grows must not shrink with them. */
  const before = { unrecorded: 0, dryDenials: 0 };
  let sweeper = clock.after(sweepMs, sweep);
  sweeper.unref();

  function sweep(): void {
    for (const [workspaceId, seat] of seats) {
      seat.sidecar?.sweep();
      if (seat.users > 0 || seat.keptUntil > clock.now() || seat.sidecar?.isSettled() !== true) continue;
      seats.delete(workspaceId);
      void retire(seat, retireDeadlineMs);
    }
    sweeper = clock.after(sweepMs, sweep);
    sweeper.unref();
  }

  function seatOf({ workspaceId, slug }: WorkspaceRef): Seat {
    const known = seats.get(workspaceId);
    if (known !== undefined) return known;
    const opening = outsideOfRuns(() => openWorkspaceSidecar(deps, { workspaceId, slug }, config));
    const seat: Seat = { slug, opening, sidecar: null, users: 0, keptUntil: 0 };
    seats.set(workspaceId, seat);
    opening.then(
      (sidecar) => {
        seat.sidecar = sidecar;
      },
      () => seats.delete(workspaceId),
    );
    return seat;
  }

  async function lease(
    { workspaceId, slug, revision }: Pick<Actor, 'workspaceId' | 'slug' | 'revision'>,
    { keptMs = 0 }: { readonly keptMs?: number } = {},
  ): Promise<Lease> {
    const seat = seatOf({ workspaceId, slug });
    seat.users += 1;
    if (keptMs > 0) seat.keptUntil = Math.max(seat.keptUntil, clock.now() + keptMs);
    let released = false;
    const release = (): void => {
      if (!released) seat.users -= 1;
      released = true;
    };
    try {
      const sidecar = await seat.opening.catch(refuseUnspooled);
      await sidecar.reached(revision, policyTimeoutMs);
      return { sidecar, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async function adopt(): Promise<void> {
    makeFolder(config.spoolFolder);
    const slugs = new Set(listSpools(config.spoolFolder).flatMap(({ workspace }) => workspace ?? []));
    for (const slug of slugs) {
      const workspaceId = await deps.findWorkspace(slug);
      if (workspaceId === null) log.warn({ workspace: slug }, 'entries of runs stay on disk: their workspace is gone');
      else await seatOf({ workspaceId, slug }).opening;
    }
  }

  async function retire({ opening, sidecar: opened, slug }: Seat, deadlineMs: number): Promise<void> {
    try {
      const sidecar = opened ?? (await opening);
      before.unrecorded += sidecar.governing.unrecorded;
      before.dryDenials += sidecar.leasing().dryDenials;
      await sidecar.close(deadlineMs);
    } catch (error) {
      log.warn({ workspace: slug, error: String(error) }, 'the sidecar of runs was not closed');
    }
  }

  const sidecars = (): readonly WorkspaceSidecar[] => [...seats.values()].flatMap(({ sidecar }) => sidecar ?? []);

  return {
    lease,
    adopt,
    shipping: () => new Map([...seats.values()].flatMap(({ slug, sidecar }) => (sidecar === null ? [] : [[slug, sidecar.shipping()]]))),
    leasing: () => sidecars().map((sidecar) => sidecar.leasing()),
    get unrecorded() {
      return sidecars().reduce((sum, { governing }) => sum + governing.unrecorded, before.unrecorded);
    },
    countUnrecorded: (entries) => {
      before.unrecorded += entries;
    },
    get dryDenials() {
      return sidecars().reduce((sum, sidecar) => sum + sidecar.leasing().dryDenials, before.dryDenials);
    },
    close: async (deadlineMs) => {
      sweeper.cancel();
      const open = [...seats.values()];
      seats.clear();
      await Promise.all(open.map((seat) => retire(seat, deadlineMs)));
    },
  };
}

const refuseUnspooled = (cause: unknown): never => {
  throw new AppError({ code: 'unavailable', publicMessage: 'the spool that tool calls are recorded in cannot be opened', cause });
};
