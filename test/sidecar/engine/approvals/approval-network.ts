// Sidecars, a ledger of approvals and a bad network in virtual time. Messages are late, and may be doubled; links are cut, and the
// answers on their way are lost, while messages of a cut link may still arrive; sidecars are killed and started again.
// The simulation knows which calls were really made.
import type { ApprovalLink, OnDecided } from '@tollgate/proto/contract';
import { createPolicyCell } from '../../../../sidecar/engine/snapshot/cell.ts';
import { keepApprovals, type ApprovalKeeper } from '../../../../sidecar/engine/approvals/approval-keeper.ts';
import type { OpenApprovals } from '../../../../sidecar/engine/approvals/asked-link.ts';
import { judge } from '../../../../sidecar/engine/govern/govern.ts';
import { type GovernedRun, openRun } from '../../../../sidecar/engine/govern/run.ts';
import { createCounters } from '../../../../sidecar/engine/limits/counters.ts';
import { createNumbers } from '../../../../sidecar/engine/redact/index.ts';
import { terms } from '../../../support/approval-asks.ts';
import { ApprovalLedger } from '../../../support/approval-ledger.ts';
import { createManualClock } from '../../../support/manual-clock.ts';
import { document, key, member, snapshotMessage } from '../../../support/snapshots.ts';

/** A generated step: which sidecar or approval, and how much. */
export interface Step {
  readonly kind: 'call' | 'wait' | 'cut' | 'kill' | 'approve' | 'deny' | 'cancel' | 'deny in policy' | 'allow in policy' | 'lose permit';
  readonly who: number;
  readonly amount: number;
}

interface Sidecar {
  readonly keeper: ApprovalKeeper;
  readonly run: GovernedRun;
  readonly deps: Parameters<typeof judge>[0];
  readonly take: (isDenied: boolean) => void;
  readonly cut: () => void;
  isDead: boolean;
  /** The permits of the next calls are not delivered. */
  losesPermits: boolean;
}

interface NetworkConfig {
  /** How often an approval may be used. */
  readonly uses: number;
  /** Returns a number from 0 to 1, made of the seed. */
  readonly random: () => number;
  /** Whether a message may arrive twice over one link. */
  readonly doubles: boolean;
}

export function createApprovalNetwork({ uses, random, doubles }: NetworkConfig) {
  const clock = createManualClock();
  const ledger = new ApprovalLedger(clock);
  /** The approvals of the calls that were made, one for each call. */
  const made: string[] = [];
  const calls = { asked: 0, answered: 0, ofTheDead: 0 };
  let ids = 0;

  const start = (): Sidecar => {
    const links = new Set<() => void>();
    const keeper = keepApprovals({ clock, random, log: { info: () => undefined }, open: badLink(links) });
    const cell = createPolicyCell(clock, 'acme');
    const counters = createCounters(60);
    const deps = { cell, clock, newId: () => `request-${(ids += 1)}`, keepInput: false, approvals: keeper };
    let revision = 0;
    const take = (isDenied: boolean): void => {
      revision += 1;
      const rule = isDenied
        ? ({ permission: 'deny' } as const)
        : ({ permission: 'ask', ask: { ...terms, uses, waitSeconds: 20, pendingSeconds: 60, validSeconds: 30 } } as const);
      const documents = [document({ tools: [['pay', [['interactive', rule]]]] })];
      cell.heard(revision);
      const offered = cell.offer(snapshotMessage({ revision, documents, members: [member()], keys: [key()] }));
      if (!offered.ok) throw new Error(`${offered.code}: ${offered.message}`);
    };
    take(false);
    const claim = { identity: { sub: 'ann', keyId: 'key-1' }, hops: [{ tier: 'interactive' as const, client: 'c', agent: 'a' }] };
    const facts = { sessionId: 's1', client: { name: 'c' }, runChain: ['s1'], chainClaimed: false };
    const run = openRun({ counters, govern: deps }, { claim, facts, numbers: createNumbers() });
    const cut = (): void => {
      for (const one of links) one();
    };
    return { keeper, run, deps, take, cut, isDead: false, losesPermits: false };
  };

  const later = (run: () => void): void => void clock.after(Math.floor(random() * 300), run);

  const badLink =
    (links: Set<() => void>): OpenApprovals =>
    (hearing) => {
      let isCut = false;
      const tell: OnDecided = (status) => later(() => void (isCut || hearing.decided(status)));
      const link = ledger.link(tell);
      const cut = (): void => {
        if (isCut) return;
        isCut = true;
        links.delete(cut);
        link.close();
        hearing.lost('cut', random() < 0.4);
      };
      links.add(cut);
      later(() => void (isCut || hearing.opened()));
      /** A message of a cut link may arrive. A message may arrive twice. */
      const send = (run: () => void): void => {
        for (let copies = doubles && random() < 0.2 ? 2 : 1; copies > 0; copies--) later(() => void ((!isCut || random() < 0.5) && run()));
      };
      const ask = <T>(run: () => T): Promise<T> =>
        new Promise((done) => {
          send(() => {
            const answer = run();
            later(() => void (isCut || done(answer)));
          });
        });
      const bad: ApprovalLink = {
        ask: (asked) => ask(() => ledger.ask(asked)),
        claim: (approvalId, requestId, call) => ask(() => ledger.claim(approvalId, requestId, call)),
        read: () => Promise.resolve(null),
        watch: (approvalId) => send(() => link.watch(approvalId)),
        returnUse: (approvalId, requestId) => send(() => ledger.returnUse(approvalId, requestId)),
        close: () => {
          isCut = true;
          links.delete(cut);
          link.close();
        },
      };
      return bad;
    };

  const sidecars = [start(), start()];

  const call = async (sidecar: Sidecar, amount: number): Promise<void> => {
    calls.asked += 1;
    const judged = await judge(
      sidecar.deps,
      sidecar.run,
      { tool: 'pay', input: { amount: amount % 3 } },
      { forwards: true, holdMs: 30_000 },
    );
    calls.answered += 1;
    if (!judged.result.allowed) return;
    // A process that was killed makes no call: its permit is not known to have been used.
    if (sidecar.isDead) return;
    if (sidecar.losesPermits) judged.giveBack?.();
    else made.push(judged.result.decision.approval?.approvalId ?? 'none');
  };

  const steps: Readonly<Record<Step['kind'], (sidecar: Sidecar, step: Step) => void>> = {
    call: (sidecar, { amount }) => void call(sidecar, amount),
    wait: (_, { amount }) => void amount,
    cut: ({ cut }) => cut(),
    kill: (sidecar, { who }) => {
      sidecar.isDead = true;
      sidecar.cut();
      // What a killed process has left in memory is gone. Here it is answered, so that the simulation can end.
      sidecar.keeper.close();
      sidecars[who % 2] = start();
    },
    approve: (_, { amount }) => answer(amount, (id) => ledger.approve(id)),
    deny: (_, { amount }) => answer(amount, (id) => ledger.deny(id)),
    cancel: (_, { amount }) => answer(amount, (id) => ledger.cancel(id)),
    'deny in policy': ({ take }) => take(true),
    'allow in policy': ({ take }) => take(false),
    'lose permit': (sidecar) => void (sidecar.losesPermits = !sidecar.losesPermits),
  };

  const answer = (amount: number, give: (id: string) => void): void => {
    const pending = ledger.rows.filter(({ state }) => state === 'pending');
    const row = pending[amount % Math.max(1, pending.length)];
    if (row !== undefined) give(row.id);
  };

  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 50) {
      clock.advance(50);
      ledger.expire();
      await new Promise((done) => void setImmediate(done));
    }
  };

  return {
    ledger,
    made,
    calls,
    async play(all: readonly Step[]): Promise<void> {
      for (const step of all) {
        const sidecar = sidecars[step.who % 2];
        if (sidecar !== undefined) steps[step.kind](sidecar, step);
        await pass(step.kind === 'wait' ? step.amount : 50);
      }
      // Longer than any hold, claim and reconnect.
      await pass(40_000);
    },
  };
}
