// Tracks streams that stay open for server messages. If a new snapshot changes the tools that a client sees, the client
// is notified on its streams too. All streams end with the process.
import type { PolicyCell } from '../../../engine/snapshot/cell.ts';
import { shownBy, type Sight, sightOf, type Viewer } from './list.ts';
import type { Listening } from '../request/pending.ts';
import type { ToolServers } from '../../../upstream/upstream.ts';

interface OpenStream extends Listening {
  readonly viewer: Viewer;
}

export interface OpenStreams {
  add(stream: OpenStream): { readonly remove: () => void };
  closeAll(): void;
}

export function createOpenStreams(cell: Pick<PolicyCell, 'onSwap'>, servers: ToolServers): OpenStreams {
  // The sight under which each client was last shown tools. The tool names may become known only later.
  const streams = new Map<OpenStream, Sight>();
  cell.onSwap((index) => {
    for (const [stream, before] of streams) {
      // `find` also updates the admitted definitions, which come with the snapshot.
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
