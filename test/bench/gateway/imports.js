// A bare program with the imports of the sidecar process. It answers the same request with as many bytes and governs
// nothing. The imports of the process are read from its main file, so that the two stay the same.
import { readFileSync } from 'node:fs';
import { fastify } from 'fastify';

const bin = new URL('../../../sidecar/bin.js', import.meta.url);
const [, mainPath] = /'(\.\/dist\/[^']+)'/.exec(readFileSync(bin, 'utf8')) ?? [];
if (mainPath === undefined) throw new Error('sidecar/bin.js does not name the file that it starts');
const main = new URL(mainPath, bin);
const specifiers = [...readFileSync(main, 'utf8').matchAll(/^(?:import|export) .*?from '([^']+)';$/gm)].map(([, specifier]) => specifier);
if (specifiers.length === 0) throw new Error(`${main} imports nothing`);
for (const specifier of specifiers) await import(specifier.startsWith('.') ? new URL(specifier, main).href : specifier);

const app = fastify();
app.post('/govern/tool-use', async () => ({
  decision: 'allow',
  reason: 'allowed: the workspace allows api calls of "server7.tool_7" (tools["server7.tool_7"].api)',
  request_id: 'd6f5a1f0-6a0f-4a8e-8c55-6a4c0d7b1f2e',
}));
process.stdout.write(`  port  ${new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port}\n`);
