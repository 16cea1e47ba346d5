// The programs around the measured sidecar, each a process of its own: `plane`, a control plane that has one snapshot,
// grants every requested lease and acknowledges every shipped entry; `hooks`, a bare fastify route that parses the same
// body and answers the same bytes; `upstream`, the target of the proxies; `proxy`, a bare @fastify/http-proxy to it.
import { Readable } from 'node:stream';
import httpProxy from '@fastify/http-proxy';
import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import {
  auditService,
  type AuditServiceHandlers,
  type LeaseRequest__Output,
  policyService,
  type PolicyServiceHandlers,
  quotaService,
  type QuotaServiceHandlers,
} from '@tollgate/proto';
import { bounds, hashKey, snapshotHash } from '@tollgate/proto/contract';
import { fastify } from 'fastify';
import { benchSnapshot } from '../world.ts';
import { benchKey, hookAnswer, httpTool, largeAnswer, mcpAnswer, mcpTools } from './said.ts';

const [role, argument = ''] = process.argv.slice(2);
const port = await serve();
process.stdout.write(`  port  ${port}\n`);
process.once('SIGTERM', () => process.exit(0));

async function serve(): Promise<number> {
  switch (role) {
    case 'plane':
      return servePlane(Number(argument));
    case 'hooks': {
      const app = fastify();
      app.post('/govern/tool-use', async () => hookAnswer);
      return listen(app);
    }
    case 'upstream': {
      const app = fastify();
      app.post('/tool', async () => hookAnswer);
      app.post<{ Body: { readonly method: string; readonly id: unknown } }>('/mcp', async ({ body: { method, id } }) =>
        method === 'tools/list' ? { ...mcpTools, id } : mcpAnswer,
      );
      app.get('/large', (_request, reply) => reply.type('application/octet-stream').send(Readable.from(largeAnswer())));
      return listen(app);
    }
    case 'proxy': {
      const app = fastify();
      await app.register(httpProxy, { upstream: argument });
      return listen(app);
    }
    default:
      throw new Error(`there is no program ${role}`);
  }
}

async function listen(app: ReturnType<typeof fastify>): Promise<number> {
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port);
}

function servePlane(rules: number): Promise<number> {
  const snapshot = withKey(rules);
  const policy: PolicyServiceHandlers = {
    Sync: (stream) => {
      const beat = setInterval(() => stream.write({ heartbeat: { current: snapshot.revision } }), 1_000);
      stream.on('data', ({ hello }) => hello && stream.write({ snapshot }));
      stream.on('error', () => undefined).on('close', () => clearInterval(beat));
    },
  };
  const audit: AuditServiceHandlers = {
    Ship: (stream) => {
      stream.on('data', ({ hello, batch }) => {
        if (hello) stream.write({ credit: { records: 100_000 } });
        if (batch) stream.write({ acknowledged: { spoolId: batch.spoolId, sequence: batch.records.at(-1)?.sequence ?? 0 } });
      });
      stream.on('error', () => undefined);
    },
  };
  let grants = 0;
  // Limits that are never used up: the sidecar is measured, not the ledger.
  const quota: QuotaServiceHandlers = {
    Lease: (stream) => {
      stream.sendMetadata(new Metadata());
      stream.on('data', ({ asks }: LeaseRequest__Output) => {
        const answers = (asks?.asks ?? []).map(({ counter, number, onlySettles, max }) => ({
          counter,
          number,
          ...(onlySettles
            ? { taken: {} }
            : { grant: { id: ++grants, tokens: 100_000_000, ttlMs: bounds.leaseMs, max: max ?? 2_000_000_000 } }),
        }));
        if (answers.length > 0) stream.write({ answers: { answers } });
      });
      stream.on('error', () => undefined);
    },
  };
  const server = new Server({ 'grpc.max_receive_message_length': 16 * 1024 * 1024 });
  server.addService(policyService, policy);
  server.addService(auditService, audit);
  server.addService(quotaService, quota);
  return new Promise((done, fail) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? done(bound) : fail(error))),
  );
}

/** The world of the other benches, with a key that may ask, and one more tool. */
function withKey(rules: number) {
  const snapshot = benchSnapshot(rules);
  const entries = snapshot.entries.map((entry) => {
    const value = JSON.parse(Buffer.from(entry.value).toString());
    if (entry.key === 'key/key') value.hash = hashKey(benchKey);
    if (entry.key === 'agent/agent') value.enabledTools.push(httpTool);
    if (entry.key.startsWith('document/')) value.tools.unshift([httpTool, [['api', { permission: 'allow' }]]]);
    return { key: entry.key, value: Buffer.from(JSON.stringify(value)) };
  });
  return { ...snapshot, entries, hash: snapshotHash(entries) };
}
