// S4: the MCP proxy over Streamable HTTP, both revisions, with answers as JSON and as an event stream, compared with a
// bare @fastify/http-proxy to the same minimal server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../measure.ts';
import { loadInTurn, rowOf } from './compare.ts';
import { initializeBody, type McpRevision, mcpBody, mcpHeaders, mcpRevisions } from './questions.ts';
import type { SideOptions } from './side.ts';
import { deniedRow, startBare, startControlPlane, startSidecar, withClosing } from './stage.ts';
import type { Request } from './wrk.ts';

const cpuUnit = 's of CPU a 1,000 calls';

const servers = [
  { name: 'server7', path: '/mcp', answers: 'JSON' },
  { name: 'server8', path: '/mcp-stream', answers: 'event stream' },
] as const;

export const benchMcpDoor = ({ tree, rounds, alone }: SideOptions): Promise<readonly Row[]> =>
  withClosing(async (closing, folder) => {
    const upstream = await startBare('upstream', '', closing);
    const plane = await startControlPlane(tree, folder, closing);
    const gateway = join(folder, 'gateway.json');
    writeFileSync(
      gateway,
      JSON.stringify({ mcpServers: Object.fromEntries(servers.map(({ name, path }) => [name, { url: `${upstream.url}${path}` }])) }),
    );
    const sidecar = await startSidecar({ tree, plane, folder, env: { TOLLGATE_GATEWAY_FILE: gateway } }, closing);
    const own = { authorization: `Bearer ${sidecar.key}`, 'x-tollgate-agent': 'free', 'x-tollgate-tier': 'api' };
    const proxy = alone ? null : await startBare('proxy', upstream.url, closing);
    const results: Row[] = [];
    for (const [revision, server] of mcpRevisions.flatMap((each) => servers.map((one) => [each, one] as const))) {
      const ours = {
        request: await requestFor(revision, `${sidecar.url}/mcp/${server.name}`, own),
        gateway: sidecar.pid,
        rest: sidecar.delivered,
        log: { entries: plane.entries, perCall: 2 },
      };
      const bare = proxy === null ? null : { request: await requestFor(revision, `${proxy.url}${server.path}`, {}), gateway: proxy.pid };
      const seen = await loadInTurn(ours, { bare }, { connections: 64, rounds, folder });
      const name = `S4 MCP door at 64, ${revision}, ${server.answers}`;
      const against = 'bare @fastify/http-proxy';
      results.push(
        rowOf({ id: 'S4 CPU', name: `${name}, CPU`, unit: cpuUnit, figure: 'cpu', against }, seen.ours, seen.others.bare),
        rowOf({ id: 'S4 calls', name: `${name}, calls`, unit: '/s', figure: 'perSecond', against }, seen.ours, seen.others.bare),
      );
    }
    return [...results, await deniedRow('S4 calls denied though all had capacity', sidecar)];
  });

/** Returns the request after the handshake of the older revision and one call that is answered correctly. */
async function requestFor(revision: McpRevision, url: string, own: Readonly<Record<string, string>>): Promise<Request> {
  const headers = { ...own, ...mcpHeaders(revision) };
  const post = (body: string, more: Readonly<Record<string, string>>) =>
    fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers, ...more }, body });
  let session: Readonly<Record<string, string>> = {};
  if (revision === '2025-11-25') {
    const answer = await post(initializeBody, {});
    await answer.text();
    const id = answer.headers.get('mcp-session-id');
    session = id === null ? {} : { 'mcp-session-id': id };
    await (await post('{"jsonrpc":"2.0","method":"notifications/initialized"}', session)).text();
  }
  const answer = await post(mcpBody(revision), session);
  const text = await answer.text();
  if (answer.status !== 200 || !text.includes('"ok"')) throw new Error(`${url} answered ${answer.status} ${text}`);
  return { url, headers: { ...headers, ...session }, body: mcpBody(revision) };
}
