// The ledger of the control plane, for one sidecar and without a database: what was ever used of limits and runs, as it has heard.
import { bounds } from '@tollgate/proto/contract';
import { askLedger, type CounterState, freshCounter } from '../../control-plane/quota/rules/ledger.ts';
import { createLeasedCounters } from '../../sidecar/engine/limits/leased-counters.ts';
import { Leases } from '../../sidecar/engine/limits/leases.ts';

/** `max`: of a limit; of a run it is 1,000. Asked when the test says. */
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
      if ('lie' in outcome) throw new Error(outcome.lie);
      states.set(id, outcome.state);
      told[kind] += ask.settled.reduce((sum, { used }) => used.reduce((inner, { count }) => inner + count, sum), 0);
      leases.answered([{ counter: ask.counter, number: ask.number, result: outcome.result }], now);
    }
  };
  return {
    counters: createLeasedCounters(leases, windowSeconds),
    leases,
    answer,
    /** All that was ever used, as the ledger has heard once everything is given back. */
    toldInAll: (now: number): Readonly<Record<'limit' | 'run', number>> => {
      answer(now, leases.release(now));
      // What is used up is told before it ends.
      for (let later = now; later < now + bounds.leaseMs; later += 50) answer(later);
      return told;
    },
  };
}
