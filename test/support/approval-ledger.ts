// The ledger of approvals in memory: what the control plane promises, in the shortest form. Models and doors are tested
// with it. It checks no approver and no policy.
import {
  type ApprovalAsk,
  type ApprovalLink,
  type ApprovalState,
  type ApprovalStatus,
  type AskedCall,
  type AskResult,
  canonicalJson,
  type ClaimResult,
  type OnDecided,
} from '@tollgate/proto/contract';
import type { OpenApprovals } from '../../sidecar/engine/approvals/asked-link.ts';

interface Row {
  readonly id: string;
  readonly ask: ApprovalAsk;
  readonly call: string;
  readonly uses: number;
  readonly validMs: number;
  state: Exclude<ApprovalState, 'used'>;
  by: string | null;
  at: number | null;
  note: string | null;
  /** How long it may be answered or used, by `clock`. */
  until: number;
  /** By request: whether its use was given back. */
  readonly claims: Map<string, 'claimed' | 'returned'>;
}

export interface LedgerClock {
  now(): number;
}

export class ApprovalLedger {
  readonly rows: Row[] = [];
  readonly #clock: LedgerClock;
  readonly #listeners = new Set<OnDecided>();

  constructor(clock: LedgerClock) {
    this.#clock = clock;
  }

  /** Links to it without any delay or loss. */
  readonly open: OpenApprovals = ({ opened, decided }) => {
    queueMicrotask(opened);
    return this.link(decided);
  };

  link(decided: OnDecided): ApprovalLink {
    const watched = new Set<string>();
    const tell: OnDecided = (status) => {
      if (watched.has(status.approvalId) && status.state !== 'pending') decided(status);
    };
    this.#listeners.add(tell);
    return {
      ask: async (ask) => this.ask(ask),
      watch: (approvalId) => {
        watched.add(approvalId);
        const row = this.rows.find(({ id }) => id === approvalId);
        if (row !== undefined) tell(this.statusOf(row));
      },
      claim: async (approvalId, requestId, call) => this.claim(approvalId, requestId, call),
      returnUse: (approvalId, requestId) => this.returnUse(approvalId, requestId),
      read: async (approvalId, keyId) => {
        const row = this.rows.find(({ id, ask }) => id === approvalId && ask.call.keyId === keyId);
        return row === undefined ? null : this.statusOf(row);
      },
      close: () => void this.#listeners.delete(tell),
    };
  }

  ask(ask: ApprovalAsk): AskResult {
    const call = canonicalJson(ask.call);
    const known = this.rows.findLast((row) => row.call === call && this.#answersAgain(row));
    if (known !== undefined) return { kind: 'approval', approval: this.statusOf(known), isNew: false };
    if (!ask.mayCreate) return { kind: 'refused', code: null, words: '', retryAfterMs: null };
    const terms = ask.call.rules.map((rule) => rule.terms);
    const row: Row = {
      id: `ap-${this.rows.length + 1}`,
      ask,
      call,
      uses: Math.min(...terms.map(({ uses }) => uses)),
      validMs: Math.min(...terms.map(({ validSeconds }) => validSeconds * 1_000)),
      state: 'pending',
      by: null,
      at: null,
      note: null,
      until: this.#clock.now() + Math.min(...terms.map(({ pendingSeconds }) => pendingSeconds * 1_000)),
      claims: new Map(),
    };
    this.rows.push(row);
    return { kind: 'approval', approval: this.statusOf(row), isNew: true };
  }

  approve(id: string, by = 'ann'): void {
    this.#answer(id, { state: 'approved', by, note: null });
  }

  deny(id: string, note: string | null = null, by = 'ann'): void {
    this.#answer(id, { state: 'denied', by, note });
  }

  cancel(id: string): void {
    this.#answer(id, { state: 'cancelled', by: null, note: null });
  }

  claim(approvalId: string, requestId: string, call: AskedCall): ClaimResult {
    const row = this.#row(approvalId);
    const claimed = row.claims.get(requestId);
    const isGranted =
      claimed === 'claimed' ||
      (claimed === undefined && this.#stateOf(row) === 'approved' && row.call === canonicalJson(call) && this.usesOf(row) < row.uses);
    if (isGranted) row.claims.set(requestId, 'claimed');
    const [first] = [...row.claims].find(([, claim]) => claim === 'claimed') ?? [];
    return { granted: isGranted, isFirstUse: isGranted && first === requestId, approval: this.statusOf(row) };
  }

  /** A claim that arrives after its return is not granted. */
  returnUse(approvalId: string, requestId: string): void {
    this.#row(approvalId).claims.set(requestId, 'returned');
  }

  usesOf(row: Row): number {
    return [...row.claims.values()].filter((claim) => claim === 'claimed').length;
  }

  statusOf(row: Row): ApprovalStatus {
    const state = this.#stateOf(row);
    const isOpen = state === 'pending' || state === 'approved';
    return {
      approvalId: row.id,
      state,
      by: row.by,
      at: row.at === null ? null : new Date(row.at).toISOString(),
      note: row.note,
      remainingMs: isOpen ? Math.max(0, row.until - this.#clock.now()) : 0,
    };
  }

  /** Tells the watchers of approvals whose time is over. Call it as time passes. */
  expire(): void {
    for (const row of this.rows) {
      const state = this.#stateOf(row);
      if (state !== 'expired' || row.state === 'expired') continue;
      row.state = 'expired';
      this.#tell(row);
    }
  }

  #stateOf(row: Row): ApprovalState {
    if (row.state === 'pending' || row.state === 'approved') {
      if (row.state === 'approved' && this.usesOf(row) >= row.uses) return 'used';
      if (this.#clock.now() >= row.until) return 'expired';
    }
    return row.state;
  }

  #answersAgain(row: Row): boolean {
    const state = this.#stateOf(row);
    return state === 'pending' || state === 'approved' || (state === 'denied' && this.#clock.now() < row.until);
  }

  #answer(id: string, answer: Pick<Row, 'state' | 'by' | 'note'>): void {
    const row = this.#row(id);
    if (this.#stateOf(row) !== 'pending') return;
    Object.assign(row, answer, { at: this.#clock.now(), until: this.#clock.now() + row.validMs });
    this.#tell(row);
  }

  #tell(row: Row): void {
    for (const listener of this.#listeners) listener(this.statusOf(row));
  }

  #row(approvalId: string): Row {
    const row = this.rows.find(({ id }) => id === approvalId);
    if (row === undefined) throw new Error(`there is no approval ${approvalId}`);
    return row;
  }
}
