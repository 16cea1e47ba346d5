// Sidecars, a ledger and a bad network in virtual time: messages are lost, doubled, late and reordered, sidecars die,
// the database's clock steps back, spent rows are removed. A hostile sidecar knows every readable id and sends false
// reports. The simulation records when calls were really made, including those of the hostile sidecar.
import type { QuotaGrant, SettledGrant } from '@tollgate/proto/contract';
import {
  askLedger,
  type CounterSettings,
  type CounterState,
  freshCounter,
  keptUntilMs,
  type LedgerAsk,
} from '../../control-plane/quota/rules/ledger.ts';
import { holderOf } from '../support/lease-names.ts';

/** A generated step: which sidecar, which message, how long. */
export interface Step {
  readonly kind: 'ask' | 'deliver' | 'answer' | 'serve' | 'call' | 'wait' | 'crash' | 'stepBack' | 'maintain' | 'limit' | 'forge';
  readonly who: number;
  readonly amount: number;
}

interface ModelGrant {
  readonly id: number;
  readonly usableUntil: number;
  left: number;
  readonly calls: number[];
}

interface Sidecar {
  /** The id that the list of sidecars shows. */
  bootId: string;
  /** The id by which only the ledger knows the sidecar. */
  holder: string;
  readonly grants: Map<number, ModelGrant>;
  /** Grants that ended here. They are settled repeatedly, as a sidecar does that receives no answer. */
  readonly ended: ModelGrant[];
  /** The ids of the grants received so far: each grant is accepted once. */
  readonly known: Set<number>;
}

interface AskInTransit {
  readonly ask: Omit<LedgerAsk, 'settled'> & { readonly settled: readonly SettledGrant[] };
  readonly sentAt: number;
  copies: number;
}

export function createNetwork({ sidecars: count, settings: first }: { readonly sidecars: number; readonly settings: CounterSettings }) {
  let now = 1_700_000_000_000;
  let behind = 0;
  let boots = 0;
  let numbers = 0;
  let settings = first;
  let state: CounterState | null = null;
  const calls: number[] = [];
  const asks: AskInTransit[] = [];
  const answers: { readonly grant: QuotaGrant; readonly to: string; readonly sentAt: number }[] = [];
  const grants: { readonly after: number; readonly max: number }[] = [];
  const made = new Set<number>();
  const boot = (): Pick<Sidecar, 'bootId' | 'holder'> => ({ bootId: `boot-${(boots += 1)}`, holder: holderOf(`boot-${boots}`) });
  const sidecars = Array.from({ length: count }, (): Sidecar => ({ ...boot(), grants: new Map(), ended: [], known: new Set() }));

  const settledOf = ({ ended }: Sidecar): readonly SettledGrant[] =>
    ended.map(({ id, calls: made }) => ({ grantId: id, used: made.map((at) => ({ ageMs: now - at, count: 1 })) }));

  const deliver = (message: AskInTransit | undefined): void => {
    if (message === undefined) return;
    const before: CounterState = state ?? freshCounter(now - behind);
    const outcome = askLedger(before, settings, message.ask, now - behind);
    if ('falseClaim' in outcome) throw new Error(`an honest sidecar was called a liar: ${outcome.falseClaim}`);
    state = outcome.state;
    const { result } = outcome;
    if (result.kind !== 'grant') return;
    made.add(result.id);
    const charged = state.charges.reduce((sum, [, used]) => sum + used, 0);
    grants.push({ after: charged + state.grants.reduce((sum, { tokens }) => sum + tokens, 0), max: settings.max });
    answers.push({ grant: result, to: message.ask.holder, sentAt: message.sentAt });
  };

  const steps: Readonly<Record<Step['kind'], (sidecar: Sidecar, amount: number) => void>> = {
    wait: (_, amount) => (now += amount),
    stepBack: (_, amount) => (behind += amount),
    limit: (_, amount) => (settings = { ...settings, max: amount % 20 }),
    crash: (sidecar) => {
      Object.assign(sidecar, boot());
      sidecar.grants.clear();
      sidecar.ended.length = 0;
    },
    call: (sidecar, amount) => {
      for (const held of sidecar.grants.values()) {
        for (let made = 0; made <= amount % 4 && held.left > 0 && now < held.usableUntil; made += 1) {
          held.left -= 1;
          held.calls.push(now);
          calls.push(now);
        }
      }
    },
    ask: (sidecar, amount) => {
      for (const held of sidecar.grants.values()) {
        if (held.left > 0 && now < held.usableUntil && amount % 3 > 0) continue;
        sidecar.grants.delete(held.id);
        sidecar.ended.push(held);
      }
      const { holder } = sidecar;
      const ask = {
        holder,
        number: (numbers += 1),
        waiting: amount % 5,
        onlySettles: amount % 11 === 0,
        made: null,
        settled: settledOf(sidecar),
      };
      asks.push({ ask, sentAt: now, copies: 2 });
    },
    deliver: (_, amount) => {
      const at = amount % Math.max(1, asks.length);
      const message = asks[at];
      if (message === undefined) return;
      message.copies -= 1;
      if (message.copies === 0) asks.splice(at, 1);
      deliver(message);
    },
    answer: (_, amount) => {
      const [answer] = answers.splice(amount % Math.max(1, answers.length), 1);
      const sidecar = answer === undefined ? undefined : sidecars.find(({ holder }) => holder === answer.to);
      if (answer === undefined || sidecar === undefined) return;
      const { id, tokens, ttlMs } = answer.grant;
      const usableUntil = ttlMs === null ? Number.POSITIVE_INFINITY : answer.sentAt + ttlMs;
      if (now < usableUntil && !sidecar.known.has(id)) sidecar.grants.set(id, { id, usableUntil, left: tokens, calls: [] });
      sidecar.known.add(id);
    },
    // The path of nearly all messages.
    serve: (sidecar, amount) => {
      steps.ask(sidecar, amount);
      deliver(asks.pop());
      steps.answer(sidecar, answers.length - 1);
    },
    // A false report settles the grants of `sidecar` as unused, under each name that the attacker can have read. It
    // uses at once what it is granted.
    forge: (sidecar, amount) => {
      const names = [sidecar.bootId, holderOf(sidecar.bootId.replace('boot', 'spool')), holderOf('hostile')];
      const all = [...made, Math.max(0, ...made) + 1].toSorted((a, b) => b - a).slice(0, 1 + (amount % 7));
      const settled = all.map((grantId) => ({ grantId, used: amount % 2 === 0 ? [] : [{ ageMs: amount * 1_000, count: 0 }] }));
      const ask = {
        holder: names[amount % names.length] ?? '',
        number: (numbers += 1),
        waiting: settings.max,
        onlySettles: amount % 5 === 0,
        made: null,
        settled: amount % 3 === 0 ? [] : settled,
      };
      const outcome = askLedger(state ?? freshCounter(now - behind), settings, ask, now - behind);
      if ('falseClaim' in outcome) return;
      ({ state } = outcome);
      const { result } = outcome;
      if (result.kind !== 'grant') return;
      made.add(result.id);
      for (let used = 0; used < result.tokens; used += 1) calls.push(now);
    },
    maintain: () => {
      if (state !== null && keptUntilMs(state, settings) < now - behind) state = null;
    },
  };

  return {
    calls,
    grants,
    play: (all: readonly Step[]): void => {
      for (const { kind, who, amount } of all) {
        const sidecar = sidecars[who % sidecars.length];
        if (sidecar !== undefined) steps[kind](sidecar, amount);
      }
    },
  };
}

/** Returns the largest number of calls in any window of this many seconds, wherever the window begins. */
export const mostInWindow = (calls: readonly number[], seconds: number): number =>
  Math.max(0, ...calls.map((from) => calls.filter((at) => at >= from && at < from + seconds * 1000).length));
