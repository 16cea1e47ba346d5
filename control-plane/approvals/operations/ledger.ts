// The ledger of approvals, for all sidecars that are connected to this process and for its own runs. Messages of one
// workspace run one after the other, so a flood of one workspace takes one connection and delays no other workspace. What
// waits has a memory budget in bytes, of which each key leaves a part to the others.
import { AppError, type ApprovalAsk, type ApprovalLink, FairMemory, type OnDecided } from '@tollgate/proto/contract';
import { isId } from '../../access/rules/key.ts';
import { loggable } from '../../base/loggable.ts';
import { inTurns, inTurnsByKey } from '../../base/turns.ts';
import { callBytes, keptBytes } from '../rules/ask-form.ts';
import { askApproval } from './ask.ts';
import { type Asker, localAsker, mayAskFor } from './asker.ts';
import { claimUse, returnUse } from './claim.ts';
import type { ApprovalDeps } from './parts.ts';
import { readStatus } from './read-status.ts';
import type { ApprovalWatch } from './watch.ts';

interface LedgerDeps extends ApprovalDeps {
  readonly watch: Pick<ApprovalWatch, 'watch'>;
  readonly log: { warn(fields: object, message: string): void };
}

export interface ApprovalLedger {
  /** Opens a link for one asker. `onDecided` is called for each watched approval, once. */
  open(asker: Asker, onDecided: OnDecided): LedgerLink;
  /** Opens a link for the control plane's own runs of one workspace. */
  openLocal(workspaceId: number, onDecided: OnDecided): LedgerLink;
}

export interface LedgerLink extends ApprovalLink {
  /** As `returnUse`. Resolves when the return is stored, or could not be stored. */
  returned(approvalId: string, requestId: string): Promise<void>;
}

/** The maximum number of transactions at the same time, so that connections are left for other work. */
const atOnce = 4;
const standardMemoryBytes = 64 * 1_048_576;
/** What a message takes that is no ask. */
const smallBytes = 4_096;
/**
 * The maximum number of approvals that one link watches. A sidecar holds at most 1,000 calls. The oldest watch is dropped; a sidecar
 * that still holds its call sends it again.
 */
const watchedMax = 2_000;

export function createApprovalLedger(deps: LedgerDeps, memoryBytes: number = standardMemoryBytes): ApprovalLedger {
  const memory = new FairMemory<string>(memoryBytes);
  const limited = inTurns(atOnce, (work: () => Promise<unknown>) => work());
  const inLane = inTurnsByKey(
    ({ lane }: { readonly lane: number; readonly work: () => Promise<unknown> }) => lane,
    ({ work }) => limited(work),
  );
  const run = async <T>({ workspaceId, owner }: Asker, bytes: number, work: () => Promise<T>): Promise<T> => {
    if (!memory.take(owner, bytes)) throw tooMany();
    try {
      return await new Promise<T>((resolve, reject) => {
        void inLane({ lane: workspaceId, work: () => work().then(resolve, reject) });
      });
    } finally {
      memory.give(owner, bytes);
    }
  };
  const open: ApprovalLedger['open'] = (asker, onDecided) => new Link(deps, asker, onDecided, run);
  return { open, openLocal: (workspaceId, onDecided) => open(localAsker(workspaceId), onDecided) };
}

const tooMany = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'too many messages about approvals of this key are waiting; try again' });

class Link implements LedgerLink {
  readonly #deps: LedgerDeps;
  readonly #asker: Asker;
  readonly #onDecided: OnDecided;
  readonly #run: <T>(asker: Asker, bytes: number, work: () => Promise<T>) => Promise<T>;
  readonly #watched = new Map<string, () => void>();
  #isClosed = false;

  constructor(
    deps: LedgerDeps,
    asker: Asker,
    onDecided: OnDecided,
    run: <T>(asker: Asker, bytes: number, work: () => Promise<T>) => Promise<T>,
  ) {
    this.#deps = deps;
    this.#asker = asker;
    this.#onDecided = onDecided;
    this.#run = run;
  }

  ask(ask: ApprovalAsk): ReturnType<ApprovalLink['ask']> {
    return this.#run(this.#asker, smallBytes + keptBytes(ask), () => askApproval(this.#deps, this.#asker, ask));
  }

  claim(approvalId: string, requestId: string, call: ApprovalAsk['call']): ReturnType<ApprovalLink['claim']> {
    return this.#run(this.#asker, smallBytes + callBytes(call), () => claimUse(this.#deps, this.#asker, { approvalId, requestId, call }));
  }

  returnUse(approvalId: string, requestId: string): void {
    void this.returned(approvalId, requestId);
  }

  async returned(approvalId: string, requestId: string): Promise<void> {
    await this.#run(this.#asker, smallBytes, () => returnUse(this.#deps, this.#asker, { approvalId, requestId })).catch((error: unknown) =>
      this.#deps.log.warn({ err: loggable(error) }, 'a use of an approval could not be returned, and stays used'),
    );
  }

  read(approvalId: string, keyId: string): ReturnType<ApprovalLink['read']> {
    return this.#run(this.#asker, smallBytes, () => readStatus(this.#deps, this.#asker, { approvalId, keyId }));
  }

  watch(approvalId: string): void {
    if (this.#isClosed || !isId(approvalId)) return;
    const known = this.#watched.get(approvalId);
    if (known !== undefined) {
      // It is the newest again.
      this.#watched.delete(approvalId);
      this.#watched.set(approvalId, known);
      return;
    }
    if (this.#watched.size >= watchedMax) this.#forget(this.#watched.keys().next().value ?? '');
    const ref = { workspaceId: this.#asker.workspaceId, id: approvalId };
    const leave = this.#deps.watch.watch(ref, (status, call) => {
      this.#watched.delete(approvalId);
      if (mayAskFor(this.#asker, call) === null) this.#onDecided(status);
    });
    this.#watched.set(approvalId, leave);
  }

  close(): void {
    this.#isClosed = true;
    for (const id of this.#watched.keys()) this.#forget(id);
  }

  #forget(approvalId: string): void {
    this.#watched.get(approvalId)?.();
    this.#watched.delete(approvalId);
  }
}
