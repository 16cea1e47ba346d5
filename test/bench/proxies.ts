// P5: the HTTP proxy and the MCP proxy of the sidecar process, each call decided and recorded, compared with a bare
// @fastify/http-proxy to the same upstream; and the memory of the process while responses of 100 MB pass.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareServers, onStage, type Stage } from './gateway/around.ts';
import { postOf } from './gateway/load.ts';
import { benchKey, hookQuestion, httpTool, mcpHeaders, mcpQuestion, mcpServer } from './gateway/said.ts';
import { judge, judgeAmount, type Result } from './measure.ts';

const measure = { ms: 2_000, rounds: 5 };
const own = { authorization: `Bearer ${benchKey}`, 'x-tollgate-agent': 'worker', 'x-tollgate-tier': 'api' };
const baseline = 'a bare @fastify/http-proxy to the same upstream';

export async function* benchProxies(): AsyncGenerator<Result> {
  yield* await onStage(async (stage) => {
    const { port, upstream } = await startProxies(stage);
    const bare = await stage.serve('proxy', upstream);
    const http = await compareServers(
      { port, request: postOf(port, `/tools/${httpTool}/tool`, own, hookQuestion) },
      { port: bare, request: postOf(bare, '/tool', {}, hookQuestion) },
      measure,
    );
    const mcp = await compareServers(
      { port, request: postOf(port, `/mcp/${mcpServer}`, { ...own, ...mcpHeaders }, mcpQuestion) },
      { port: bare, request: postOf(bare, '/mcp', mcpHeaders, mcpQuestion) },
      measure,
    );
    return [
      judge('P5 HTTP', { name: 'P5 HTTP proxy, requests', value: http.perSecond, unit: '/s', baseline, ratio: http.share }),
      judge('P5 MCP', { name: 'P5 MCP proxy, requests', value: mcp.perSecond, unit: '/s', baseline, ratio: mcp.share }),
      await memoryOver(stage, port),
    ];
  });
}

async function startProxies(stage: Stage): Promise<{ readonly port: number; readonly upstream: string }> {
  const upstream = `http://127.0.0.1:${await stage.serve('upstream')}`;
  const file = join(stage.folder, 'gateway.json');
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { [mcpServer]: { url: `${upstream}/mcp` } }, httpTools: { [httpTool]: { url: upstream } } }),
  );
  return { port: await stage.sidecar({ TOLLGATE_GATEWAY_FILE: file }), upstream };
}

/** The maximum memory of the process while five responses of 100 MB pass, minus the memory before. */
async function memoryOver(stage: Stage, port: number): Promise<Result> {
  const before = stage.residentOf(port);
  let most = before;
  for (let response = 0; response < 5; response++) {
    const { body, status } = await fetch(`http://127.0.0.1:${port}/tools/${httpTool}/large`, { headers: own });
    if (status !== 200 || body === null) throw new Error(`the large response was ${status}`);
    for await (const _ of body) most = Math.max(most, stage.residentOf(port));
  }
  const aboveMb = (most - before) / 1024 ** 2;
  return judgeAmount('P5 memory', aboveMb, {
    name: 'P5 HTTP proxy, memory over responses of 100 MB',
    value: aboveMb,
    unit: 'MB above',
    baseline: `${(before / 1024 ** 2).toFixed(0)} MB before; the ratio is to half a response`,
  });
}
