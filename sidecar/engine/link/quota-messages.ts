// Converts messages of `QuotaService` from and to the plain values that leases use.
import { type Answer__Output, counterFrom, counterOf, type LeaseRequest, type LeaseResponse__Output } from '@tollgate/proto';
import type { QuotaAnswer, QuotaAsk, QuotaCounter, QuotaResult } from '@tollgate/proto/contract';

type Message = NonNullable<NonNullable<LeaseRequest['asks']>['asks']>[number];

export const asksOf = (asks: readonly QuotaAsk[]): LeaseRequest => ({ asks: { asks: asks.map(askOf) } });

const askOf = ({ counter, settled, max, made, ...ask }: QuotaAsk): Message => ({
  ...ask,
  ...(max === null ? {} : { max }),
  ...(made === null ? {} : { made }),
  counter: counterOf(counter),
  settled: settled.map(({ grantId, used }) => ({ grantId, used: [...used] })),
});

/** An answer that cannot be read is skipped: its ask is sent again. */
export const answersFrom = (answers: NonNullable<LeaseResponse__Output['answers']>): readonly QuotaAnswer[] =>
  answers.answers.flatMap((answer) => {
    const counter = counterFrom(answer.counter);
    const result = resultFrom(answer);
    return counter === null || result === null ? [] : [{ counter, number: answer.number, result }];
  });

export const recalledFrom = (recall: NonNullable<LeaseResponse__Output['recall']>): readonly QuotaCounter[] =>
  recall.counters.flatMap((counter) => counterFrom(counter) ?? []);

function resultFrom({ result, grant, full, later }: Answer__Output): QuotaResult | null {
  switch (result) {
    case 'grant':
      return grant == null ? null : { ...grant, kind: 'grant', ttlMs: grant.ttlMs ?? null, ageMs: grant.ageMs ?? null };
    case 'full':
      return full == null ? null : { kind: 'full', roomAfterMs: full.roomAfterMs ?? null, shared: full.shared };
    case 'later':
      return later == null ? null : { kind: 'later', askAfterMs: later.askAfterMs };
    case 'none':
    case 'taken':
      return { kind: result };
    default:
      return null;
  }
}
