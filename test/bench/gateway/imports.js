// A bare program with the imports of the sidecar process, which answers the same question by as many bytes and governs nothing.
import '../../../sidecar/dist/config.js';
import '../../../sidecar/dist/gateway/entrance.js';
import '../../../sidecar/dist/gateway/mesh/mesh.js';
import '../../../sidecar/dist/gateway/metrics.js';
import '../../../sidecar/dist/gateway/server.js';
import '../../../sidecar/dist/gateway/upstreams/tool-servers.js';
import '../../../sidecar/dist/start.js';
import { fastify } from 'fastify';

const app = fastify();
app.post('/govern/tool-use', async () => ({
  decision: 'allow',
  reason: 'allowed: the workspace allows api calls of "server7.tool_7" (tools["server7.tool_7"].api)',
  request_id: 'd6f5a1f0-6a0f-4a8e-8c55-6a4c0d7b1f2e',
}));
process.stdout.write(`  port  ${new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port}\n`);
