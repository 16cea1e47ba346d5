// The suite cannot send a key. This server is in front of the proxy and adds one; everything else passes unchanged,
// bytes and headers, in both directions, as it arrives.
import { createServer, request } from 'node:http';
import { once } from 'node:events';

export interface KeyAdapter {
  readonly url: string;
  close(): void;
}

export async function startKeyAdapter(to: URL, key: string): Promise<KeyAdapter> {
  const server = createServer((incoming, response) => {
    const { method, rawHeaders } = incoming;
    const headers = [...rawHeaders, 'Authorization', `Bearer ${key}`];
    const onward = request({ host: to.hostname, port: to.port, path: to.pathname, method, headers, setHost: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the adapter has no port');
  return {
    url: `http://127.0.0.1:${address.port}${to.pathname}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
