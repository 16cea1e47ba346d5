// Streams that stay open for what servers have to tell. A new snapshot that changes what a client sees of the tools is told
// on them too. All end when the process does.
import type { PolicyCell } from '../../snapshot/cell.ts';
import { shownBy, type Sight, sightOf, type Viewer } from './list.ts';
import type { Listening } from './pending.ts';
import type { ToolServers } from './upstream.ts';

interface OpenStream extends Listening {
  readonly viewer: Viewer;
}

export interface OpenStreams {
  add(stream: OpenStream): { readonly remove: () => void };
  closeAll(): void;
}

export function createOpenStreams(cell: Pick<PolicyCell, 'onSwap'>, servers: ToolServers): OpenStreams {
  // By what each client was last shown tools. Which there are may come to be known only later.
  const streams = new Map<OpenStream, Sight>();
  cell.onSwap((index) => {
    for (const [stream, before] of streams) {
      // Which definitions are admitted comes with the snapshot too.
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
