// Converts messages of `QuotaService` to and from the plain values of the ledger. A missing value becomes a text that
// the later form check rejects, so that all problems are reported in one place.
import { type Answer, type Ask__Output, counterFrom, counterOf, type LeaseResponse } from '@tollgate/proto';
import { type QuotaAnswer, type QuotaAsk, type QuotaCounter, type QuotaResult, unreachable } from '@tollgate/proto/contract';

/** Returns null if one of the `asks` has no counter or no revision. */
export function asksFrom(asks: readonly Ask__Output[]): readonly QuotaAsk[] | null {
  const read = asks.map(askFrom);
  return read.every((ask) => ask !== null) ? read : null;
}

function askFrom({ counter, number, waiting, onlySettles, revision, max, made, settled }: Ask__Output): QuotaAsk | null {
  const counted = counterFrom(counter);
  if (counted === null || revision === null) return null;
  return { counter: counted, number, waiting, onlySettles, revision, max: max ?? null, made: made ?? null, settled };
}

/** The sidecar knows the subject and key of its run, so they are not sent back. */
const named = (counter: QuotaCounter): QuotaCounter => (counter.kind === 'run' ? { ...counter, of: null } : counter);

export const recallOf = (counters: readonly QuotaCounter[]): LeaseResponse => ({
  recall: { counters: counters.map((counter) => counterOf(named(counter))) },
});

export const answersOf = (answers: readonly QuotaAnswer[]): LeaseResponse => ({
  answers: { answers: answers.map(({ counter, number, result }) => ({ counter: counterOf(named(counter)), number, ...resultOf(result) })) },
});

function resultOf(result: QuotaResult): Pick<Answer, 'grant' | 'full' | 'later' | 'none' | 'taken'> {
  switch (result.kind) {
    case 'grant': {
      const { id, tokens, ttlMs, max, shared, ageMs } = result;
      return { grant: { id, tokens, max, shared, ...(ttlMs === null ? {} : { ttlMs }), ...(ageMs === null ? {} : { ageMs }) } };
    }
    case 'full': {
      const { roomAfterMs, shared } = result;
      return { full: { shared, ...(roomAfterMs === null ? {} : { roomAfterMs }) } };
    }
    case 'later':
      return { later: { askAfterMs: result.askAfterMs, held: result.held } };
    case 'none':
      return { none: {} };
    case 'taken':
      return { taken: {} };
    default:
      return unreachable(result);
  }
}
