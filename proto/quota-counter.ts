// Converts the counter of an ask from a gRPC message to a plain value, and back. Both programs use these functions.
import type { QuotaCounter, RunOf } from './contract/index.ts';
import type { Counter, Counter__Output } from './gen/tollgate/v1/Counter.ts';
import type { SharedRun__Output } from './gen/tollgate/v1/SharedRun.ts';

export const counterOf = (counter: QuotaCounter): Counter =>
  counter.kind === 'limit'
    ? { limit: { originSub: counter.originSub, id: counter.id } }
    : {
        run: {
          id: counter.id,
          agentId: counter.agentId,
          ...(counter.of === null ? {} : { ...counter.of, agents: [...counter.of.agents] }),
        },
      };

/** Returns the counter in a message. Null: the message names no counter. */
export function counterFrom(message: Counter__Output | null | undefined): QuotaCounter | null {
  if (message?.limit != null) return { kind: 'limit', originSub: message.limit.originSub, id: message.limit.id };
  if (message?.run != null) return { kind: 'run', id: message.run.id, agentId: message.run.agentId, of: runFrom(message.run) };
  return null;
}

/** Returns the description of a run in a message. Null: the message does not contain it. */
const runFrom = ({ keyId, sub, sessionId, agents }: SharedRun__Output): RunOf | null =>
  agents.length === 0 ? null : { keyId, sub, sessionId, agents };
