// The ledger of the control plane, for one sidecar and without a database: the total use of limits and runs, as
// reported to it.
import { bounds } from '@tollgate/proto/contract';
import { askLedger, type CounterState, freshCounter } from '../../control-plane/quota/rules/ledger.ts';
import { createLeasedCounters } from '../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../sidecar/engine/limits/leases.ts';

/** `max`: of a limit; for a run it is 1,000. It answers when the test says so. */
export function startLedger({ windowSeconds, max }: { readonly windowSeconds: number; readonly max: number }) {
  const leases = new Leases({ onUrgent: () => undefined, onActive: () => undefined, onWaited: () => undefined });
  const settingsOf = { limit: { kind: 'window', windowSeconds, max }, run: { kind: 'total', max: 1_000 } } as const;
  const states = new Map<string, CounterState>();
  const told = { limit: 0, run: 0 };
  leases.opened();
  leases.policyChanged({ epoch: 'e', number: 1 }, 0);
  const answer = (now: number, asks = leases.asks(now)): void => {
    for (const ask of asks) {
      const { kind } = ask.counter;
      const id = JSON.stringify(ask.counter);
      const outcome = askLedger(states.get(id) ?? freshCounter(0), settingsOf[kind], { holder: 'h', ...ask }, now);
      if ('falseClaim' in outcome) throw new Error(outcome.falseClaim);
      states.set(id, outcome.state);
      told[kind] += ask.settled.reduce((sum, { used }) => used.reduce((inner, { count }) => inner + count, sum), 0);
      leases.answered([{ counter: ask.counter, number: ask.number, result: outcome.result }], now);
    }
  };
  return {
    counters: createLeasedCounters(leases, windowSeconds),
    leases,
    answer,
    /** The total use, as reported to the ledger once everything is returned. */
    toldInAll: (now: number): Readonly<Record<'limit' | 'run', number>> => {
      answer(now, leases.release(now));
      // Used-up grants are reported before they expire.
      for (let later = now; later < now + bounds.leaseMs; later += 50) answer(later);
      return told;
    },
  };
}
