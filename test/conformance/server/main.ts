// The conformance suite's server as a program: both revisions at `/mcp` on loopback. Prints its address once it
// listens.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server';
import { buildServer, type Changes } from './build-server.ts';
import { requestFrom, respond } from './node-http.ts';
import { createSessions } from './sessions.ts';

const changes: Changes = { toolsChanged: () => handler.notify.toolsChanged(), promptsChanged: () => handler.notify.promptsChanged() };
const build = () => buildServer(changes);
const handler = createMcpHandler(build, { legacy: 'reject' });
const sessions = createSessions(build);

/** A page in a browser has another origin, and a rebound name has another host. */
const isLocal = (place: string | undefined): boolean => /^(?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(place ?? '');
const isForeign = ({ headers }: IncomingMessage): boolean =>
  !isLocal(headers.host) || (headers.origin !== undefined && !isLocal(headers.origin));

const http = createServer((incoming, response) => {
  void (async () => {
    if (isForeign(incoming)) return void response.writeHead(403).end();
    const request = requestFrom(incoming, response);
    await respond(response, (await isLegacyRequest(request.clone())) ? await sessions(request) : await handler.fetch(request));
  })().catch((error: unknown) => {
    if (!response.headersSent) response.writeHead(500);
    response.end();
    if (!response.destroyed) process.stderr.write(`${String(error)}\n`);
  });
});
http.listen(0, '127.0.0.1');
await once(http, 'listening');
const address = http.address();
if (address === null || typeof address === 'string') throw new Error('the server has no port');
process.stdout.write(`Conformance server\n  mcp  http://127.0.0.1:${address.port}/mcp\n`);
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => process.exit(0));
