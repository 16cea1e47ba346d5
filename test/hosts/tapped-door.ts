// The sidecar's MCP door behind a proxy on loopback, which keeps what the client asked and what it heard: whether it
// asked for progress, and each notification.
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventually } from '../support/programs.ts';
import type { McpDoor } from './driver.ts';

export interface TappedDoor {
  readonly door: McpDoor;
  /** Waits for a call of a tool, and returns whether it has a progress token. */
  asksForProgress(): Promise<boolean>;
  /** Waits until the client has received a progress notification with this text. */
  hears(text: string): Promise<void>;
  close(): Promise<void>;
}

/** `url`: the door of the sidecar. */
export async function tapDoor(url: string, key: string): Promise<TappedDoor> {
  let [asked, answered] = ['', ''];
  const pass = (from: IncomingMessage, to: ServerResponse): void => {
    const onward = request(url, { method: from.method ?? 'GET', headers: { ...from.headers, host: new URL(url).host } }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('data', (more) => (answered += String(more)));
      answer.pipe(to);
    });
    onward.on('error', () => to.destroy());
    to.on('close', () => onward.destroy());
    from.on('data', (more) => (asked += String(more)));
    from.pipe(onward);
  };
  const server = createServer(pass).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    door: { url: `http://127.0.0.1:${port}/mcp/notes`, headers: { Authorization: `Bearer ${key}` } },
    asksForProgress: async () => {
      const call = await eventually(
        async () => asked.split('"tools/call"')[1],
        (found) => found !== undefined,
      );
      return call?.includes('"progressToken"') === true;
    },
    hears: async (text) => {
      await eventually(
        async () => answered.split('\n').some((line) => line.includes('notifications/progress') && line.includes(text)),
        (found) => found,
      );
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
