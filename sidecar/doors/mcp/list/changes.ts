// Notifies clients that their list of tools changed. Streams that stay open for server messages are tracked: if a new
// snapshot changes the tools that a client sees, the client is notified on its streams. All streams end with the
// process. This file also handles `subscriptions/listen` of the newest revision, a stream for changes. The list changes
// with the policy, whatever the server reports about its own list. So each client that asks for tool changes is
// notified.
import type { PolicyCell } from '../../../engine/snapshot/cell.ts';
import { shownBy, type Sight, sightOf, type Viewer } from './list.ts';
import type { Listening, Pending } from '../request/pending.ts';
import { memberAt, withMember } from '../../../upstream/wire/json-text.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import type { ToolServers } from '../../../upstream/upstream.ts';

interface OpenStream extends Listening {
  readonly viewer: Viewer;
}

export interface OpenStreams {
  add(stream: OpenStream): { readonly remove: () => void };
  closeAll(): void;
}

export function createOpenStreams(cell: Pick<PolicyCell, 'onSwap'>, servers: ToolServers): OpenStreams {
  // Each open stream, with the state that determined the tools that its client saw last. The names of the tools may
  // become known only later.
  const streams = new Map<OpenStream, Sight>();
  cell.onSwap((index) => {
    for (const [stream, before] of streams) {
      // `find` is called because it also updates the server's admitted definitions, which come with the snapshot.
      servers.find(index, stream.viewer.server.name);
      const now = sightOf(stream.viewer);
      streams.set(stream, now);
      const text = shownBy(stream.viewer, now) === shownBy(stream.viewer, before) ? null : stream.notification();
      if (text !== null) stream.write(text);
    }
  });
  return {
    add: (stream) => {
      streams.set(stream, sightOf(stream.viewer));
      return { remove: () => void streams.delete(stream) };
    },
    closeAll: () => {
      for (const stream of streams.keys()) stream.close();
    },
  };
}

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
