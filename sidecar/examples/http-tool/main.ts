// Shows a tool that is an HTTP service. Callers reach it through the sidecar, at /tools/<name>. The sidecar decides
// each call, and does not forward the caller's key.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { addRules, key } from '../plane.ts';
import { startSidecar } from '../sidecar.ts';

await addRules({
  'billing.GET': { api: { transform: 'redact' } },
  'billing.DELETE': { api: { permission: 'deny' } },
});

const service = createServer((request, response) => {
  console.log('the service sees:', request.method, request.url, 'with a key of ours:', request.headers.authorization !== undefined);
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ invoice: 7, to: 'ada@acme-mail.eu' }));
}).listen(0, '127.0.0.1');
await once(service, 'listening');
const address = service.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;

const sidecar = await startSidecar({ httpTools: { billing: { url: `http://127.0.0.1:${port}`, nameByMethod: true } } });
const headers = { authorization: `Bearer ${key}`, 'x-tollgate-agent': 'clerk', 'x-tollgate-tier': 'api' };
const read = await fetch(`${sidecar.url}/tools/billing/invoices/7`, { headers });
console.log('GET:', read.status, await read.text());
const removed = await fetch(`${sidecar.url}/tools/billing/invoices/7`, { method: 'DELETE', headers });
console.log('DELETE:', removed.status, await removed.text());
service.close();
service.closeAllConnections();
await sidecar.stop();
