// Sessions of 2025-11-25: each a server and a transport of its own, whose streams can be resumed.
import { randomUUID } from 'node:crypto';
import {
  type EventStore,
  type JSONRPCMessage,
  type McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

interface StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
}

function createEventStore(): EventStore {
  const events: StoredEvent[] = [];
  return {
    storeEvent: (stream, message) => {
      const id = String(events.length);
      events.push({ id, stream, message });
      return Promise.resolve(id);
    },
    getStreamIdForEventId: (id) => Promise.resolve(events[Number(id)]?.stream),
    replayEventsAfter: async (last, { send }) => {
      const { stream } = events[Number(last)] ?? { stream: '' };
      // The first event of a stream is empty: it exists only for its id.
      const missed = events.slice(Number(last) + 1).filter((event) => event.stream === stream && Object.keys(event.message).length > 0);
      for (const { id, message } of missed) await send(id, message);
      return stream;
    },
  };
}

export function createSessions(build: () => McpServer): (request: Request) => Promise<Response> {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : transports.get(id);
    if (known !== undefined) return known.handleRequest(request);
    if (id !== null)
      return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_001, message: 'Session not found' } }, { status: 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: 500,
      onsessioninitialized: (made) => void transports.set(made, transport),
      onsessionclosed: (closed) => void transports.delete(closed),
    });
    await build().connect(transport);
    return transport.handleRequest(request);
  };
}
