// Handles `subscriptions/listen` of the newest revision: a stream for changes. The list of tools changes with the
// policy, whatever the server reports about its own list. Therefore each client that asks for tool changes is notified.
import { memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import type { Pending } from '../request/pending.ts';

const acknowledged = 'notifications/subscriptions/acknowledged';
const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

export function listenPending({ id, method, params }: ClientRequest, passing: Pending['passing']): Pending {
  const filter = params['notifications'];
  const wantsTools = isFields(filter) && filter['toolsListChanged'] === true;
  let isAcknowledged = false;
  const notification = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/tools/list_changed',
    params: { _meta: { [subscriptionKey]: id } },
  });
  return {
    method,
    settle: ({ text }) => Promise.resolve(text),
    abandon: () => Promise.resolve(),
    passing: (text) => {
      const passed = passing(text);
      if (!isAcknowledgement(text)) return passed;
      isAcknowledged = true;
      return wantsTools ? withMember(passed, ['params', 'notifications', 'toolsListChanged'], 'true') : passed;
    },
    listening: (writer) => ({
      notification: () => (wantsTools && isAcknowledged ? notification : null),
      write: (text) => void writer.send(text),
      close: () => writer.end(),
    }),
  };
}

function isAcknowledgement(text: string): boolean {
  const span = memberAt(text, ['method']);
  return span !== null && JSON.parse(text.slice(span.start, span.end)) === acknowledged;
}
