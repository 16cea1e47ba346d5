// Handles client requests other than calls, reads and the list of tools: other lists, subscriptions, the log level. The
// policy decides about the method under its own name. If the method is not permitted, a list is answered as empty and
// any other request is refused, and the server receives nothing. Otherwise request and answer are redacted. Only a
// refusal is recorded, because listing visible items has no effect.
import { offers } from '../../../engine/govern/offers.ts';
import { type Judging, prepareRead } from './call.ts';
import { policyName } from '../list/list.ts';
import { passingBy, sideline } from './passing.ts';
import type { Prepared } from './pending.ts';
import { redactedAnswer, redactedParams } from './redaction.ts';
import { memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import type { ClientRequest } from '../../../upstream/wire/message.ts';
import { type Era, listedBy } from '../../../upstream/wire/methods.ts';
import { Refused, type RpcId } from '../../../upstream/wire/rpc.ts';

/** Throws `Refused` if the request must not be forwarded. */
export async function prepareAside(judging: Judging, message: ClientRequest): Promise<Prepared> {
  const { govern, run, server, era } = judging;
  const { id, method, params } = message;
  const listed = listedBy(method);
  if (!offers(govern, run, policyName(server, method))) {
    if (listed === null) return prepareRead(judging, message);
    throw new Refused(200, emptyListText(id, era, listed));
  }
  const { cursor } = params;
  const redacted = {
    ...redactedParams(run, sideline(run, server, method), params, ['cursor']),
    ...(cursor === undefined ? {} : { cursor }),
  };
  return {
    message: { ...message, params: redacted },
    declared: [],
    pending: {
      method,
      settle: async (response) => {
        const text = redactedAnswer(run, sideline(run, server, method), response);
        // The list of one caller must not be cached for another caller.
        const isOwn = era === 'modern' && listed !== null && memberAt(text, ['result']) !== null;
        return isOwn ? withMember(text, ['result', 'cacheScope'], '"private"') : text;
      },
      abandon: () => Promise.resolve(),
      passing: passingBy(run, server, method),
    },
  };
}

const emptyListText = (id: RpcId, era: Era, listed: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: { ...(era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}), [listed]: [] },
  });
