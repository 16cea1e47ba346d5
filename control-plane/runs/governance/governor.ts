// Manages the sidecars of this process: one for each workspace with active runs or with hook requests. A sidecar stays
// open while it is used. After that it stays open until its limits have no counts and its entries are shipped, so that
// a pause between two runs loses no counts.
import { AsyncLocalStorage } from 'node:async_hooks';
import { AppError } from '@tollgate/proto/contract';
import { type LeaseStatus, listSpools, makeFolder, type ShipperStatus } from '@tollgate/sidecar/engine';
import type { Actor } from '../../access/rules/actor.ts';
import type { WorkspaceRef } from './held-policy.ts';
import {
  openWorkspaceSidecar,
  type WorkspaceSidecar,
  type WorkspaceSidecarConfig,
  type WorkspaceSidecarDeps,
} from './workspace-sidecar.ts';

export interface GovernorDeps extends WorkspaceSidecarDeps {
  /** Returns null when no workspace has that slug. */
  readonly findWorkspace: (slug: string) => Promise<number | null>;
}

/** Keeps the sidecar of a workspace open until `release`. */
interface OpenSidecar {
  readonly sidecar: WorkspaceSidecar;
  release(): void;
}

export interface Governor {
  /**
   * Resolves when the revision of the sidecar's policy is the one at which the caller was authenticated, or a later
   * one. Rejects with `AppError`. `keptMs`: for how long from now, in ms, the sidecar must not be closed, even if
   * `isSettled` returns true. Sessions of hooks need this, because this sidecar counts their calls.
   */
  open(actor: Pick<Actor, 'workspaceId' | 'slug' | 'revision'>, options?: { readonly keptMs?: number }): Promise<OpenSidecar>;
  /** Ships the entries that an earlier process with this folder did not ship. Call it once, at the start. */
  adopt(): Promise<void>;
  /** The state of shipping of each open sidecar, by the slug of its workspace. */
  shipping(): ReadonlyMap<string, ShipperStatus>;
  leasing(): readonly LeaseStatus[];
  /**
   * The number of decisions whose entries could not be written. It counts all sidecars since the start, including
   * sidecars that are closed now.
   */
  readonly unrecorded: number;
  /** Increases `unrecorded` by the number of decisions whose entries were never passed to a sidecar. */
  countUnrecorded(entries: number): void;
  /**
   * The number of calls denied because a lease had no calls left. It counts all sidecars since the start, including
   * sidecars that are closed now.
   */
  readonly dryDenials: number;
  /** Answers the calls that are held until a person has answered, because the process ends. */
  drain(): void;
  close(deadlineMs: number): Promise<void>;
}

interface KeptSidecar {
  readonly slug: string;
  readonly opening: Promise<WorkspaceSidecar>;
  sidecar: WorkspaceSidecar | null;
  users: number;
  /** Until this time of `clock`, the sidecar must not be closed. */
  keptUntil: number;
}

const sweepMs = 10_000;
const policyTimeoutMs = 10_000;
const retireDeadlineMs = 1_000;

export const createGovernor = (deps: GovernorDeps, config: WorkspaceSidecarConfig): Governor => new SeatGovernor(deps, config);

class SeatGovernor implements Governor {
  readonly #deps: GovernorDeps;
  readonly #config: WorkspaceSidecarConfig;
  readonly #kept = new Map<number, KeptSidecar>();
  // A sidecar stays open longer than the run that opens it. What the sidecar does must not become part of the trace of
  // that run.
  readonly #outsideOfRuns = AsyncLocalStorage.snapshot();
  /** The totals of closed sidecars: counters must not decrease when a sidecar is closed. */
  readonly #before = { unrecorded: 0, dryDenials: 0 };
  #sweeper: ReturnType<GovernorDeps['clock']['after']>;

  constructor(deps: GovernorDeps, config: WorkspaceSidecarConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#sweeper = this.#sweepLater();
  }

  async open(
    { workspaceId, slug, revision }: Pick<Actor, 'workspaceId' | 'slug' | 'revision'>,
    { keptMs = 0 }: { readonly keptMs?: number } = {},
  ): Promise<OpenSidecar> {
    const kept = this.#keptFor({ workspaceId, slug });
    kept.users += 1;
    if (keptMs > 0) kept.keptUntil = Math.max(kept.keptUntil, this.#deps.clock.now() + keptMs);
    let released = false;
    const release = (): void => {
      if (!released) kept.users -= 1;
      released = true;
    };
    try {
      const sidecar = await kept.opening.catch(refuseUnspooled);
      await sidecar.reached(revision, policyTimeoutMs);
      return { sidecar, release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async adopt(): Promise<void> {
    const { spoolFolder } = this.#config;
    makeFolder(spoolFolder);
    const slugs = new Set(listSpools(spoolFolder).flatMap(({ workspace }) => workspace ?? []));
    for (const slug of slugs) {
      const workspaceId = await this.#deps.findWorkspace(slug);
      if (workspaceId === null)
        this.#deps.log.warn({ workspace: slug }, 'audit entries of runs stay on disk, because the workspace of the runs was removed');
      else await this.#keptFor({ workspaceId, slug }).opening;
    }
  }

  shipping(): ReadonlyMap<string, ShipperStatus> {
    return new Map([...this.#kept.values()].flatMap(({ slug, sidecar }) => (sidecar === null ? [] : [[slug, sidecar.shipping()]])));
  }

  leasing(): readonly LeaseStatus[] {
    return this.#openSidecars().map((sidecar) => sidecar.leasing());
  }

  get unrecorded(): number {
    return this.#openSidecars().reduce((sum, { governing }) => sum + governing.unrecorded, this.#before.unrecorded);
  }

  countUnrecorded(entries: number): void {
    this.#before.unrecorded += entries;
  }

  get dryDenials(): number {
    return this.#openSidecars().reduce((sum, sidecar) => sum + sidecar.leasing().dryDenials, this.#before.dryDenials);
  }

  drain(): void {
    for (const sidecar of this.#openSidecars()) sidecar.drain();
  }

  async close(deadlineMs: number): Promise<void> {
    this.#sweeper.cancel();
    const open = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(open.map((kept) => this.#retire(kept, deadlineMs)));
  }

  #keptFor({ workspaceId, slug }: WorkspaceRef): KeptSidecar {
    const known = this.#kept.get(workspaceId);
    if (known !== undefined) return known;
    const opening = this.#outsideOfRuns(() => openWorkspaceSidecar(this.#deps, { workspaceId, slug }, this.#config));
    const kept: KeptSidecar = { slug, opening, sidecar: null, users: 0, keptUntil: 0 };
    this.#kept.set(workspaceId, kept);
    opening.then(
      (sidecar) => {
        kept.sidecar = sidecar;
      },
      () => this.#kept.delete(workspaceId),
    );
    return kept;
  }

  #openSidecars(): readonly WorkspaceSidecar[] {
    return [...this.#kept.values()].flatMap(({ sidecar }) => sidecar ?? []);
  }

  #sweepLater(): ReturnType<GovernorDeps['clock']['after']> {
    const timer = this.#deps.clock.after(sweepMs, () => this.#sweep());
    timer.unref();
    return timer;
  }

  #sweep(): void {
    const now = this.#deps.clock.now();
    for (const [workspaceId, kept] of this.#kept) {
      kept.sidecar?.sweep();
      if (kept.users > 0 || kept.keptUntil > now || kept.sidecar?.isSettled() !== true) continue;
      this.#kept.delete(workspaceId);
      void this.#retire(kept, retireDeadlineMs);
    }
    this.#sweeper = this.#sweepLater();
  }

  async #retire({ opening, sidecar: opened, slug }: KeptSidecar, deadlineMs: number): Promise<void> {
    try {
      const sidecar = opened ?? (await opening);
      this.#before.unrecorded += sidecar.governing.unrecorded;
      this.#before.dryDenials += sidecar.leasing().dryDenials;
      await sidecar.close(deadlineMs);
    } catch (error) {
      this.#deps.log.warn({ workspace: slug, error: String(error) }, 'the sidecar for the runs of a workspace could not be closed');
    }
  }
}

const refuseUnspooled = (cause: unknown): never => {
  throw new AppError({ code: 'unavailable', publicMessage: 'the spool for the audit entries of tool calls cannot be opened', cause });
};
