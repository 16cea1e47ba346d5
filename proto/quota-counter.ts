// The counter of an ask, as a message and as a plain value: both programs read and write it.
import type { QuotaCounter } from './contract/index.ts';
import type { Counter, Counter__Output } from './gen/tollgate/v1/Counter.ts';

export const counterOf = (counter: QuotaCounter): Counter =>
  counter.kind === 'limit'
    ? { limit: { originSub: counter.originSub, id: counter.id } }
    : { run: { id: counter.id, agentId: counter.agentId } };

/** Null where it names none. */
export function counterFrom(message: Counter__Output | null | undefined): QuotaCounter | null {
  if (message?.limit != null) return { kind: 'limit', originSub: message.limit.originSub, id: message.limit.id };
  if (message?.run != null) return { kind: 'run', id: message.run.id, agentId: message.run.agentId };
  return null;
}
