// Runs many thin sidecars in one process, each over a connection of its own: they answer every push with the hash that
// came with it. With a key, one more is a real sidecar, which verifies, builds and swaps. `GET /wait?revision=N`
// answers once all have acknowledged N or a later one. `POST /reconnect` opens all streams again with the revision that
// each holds, and answers how many bytes of snapshots and deltas that brought. `POST /deafen` makes one of them stop
// reading.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientDuplexStream, credentials, Metadata } from '@grpc/grpc-js';
import { createPolicyClient, policyService, type Revision, type SyncRequest, type SyncResponse__Output } from '@tollgate/proto';
import { snapshotSchemaVersion } from '@tollgate/proto/contract';
import { fastify } from 'fastify';
import { startSidecar } from '../../../sidecar/app/start.ts';
import { type FollowReport, wallTimeMs } from './said.ts';

const [address = '', count = '', key = '', real = ''] = process.argv.slice(2);

interface Thin {
  stream: ClientDuplexStream<SyncRequest, SyncResponse__Output>;
  held: { readonly revision: Revision; readonly hash: Uint8Array } | null;
}

const reached = new Map<object, number>();
let lastAt = 0;
let newest: SyncResponse__Output | null = null;
let pushed = 0;
let waiting: { readonly revision: number; readonly done: () => void }[] = [];

const wanted = Number(count) + (real === 'real' ? 1 : 0);
const isReached = (revision: number): boolean => reached.size === wanted && [...reached.values()].every((held) => held >= revision);

function acknowledged(who: object, revision: number): void {
  reached.set(who, revision);
  lastAt = wallTimeMs();
  const open = waiting.filter((one) => isReached(one.revision));
  waiting = waiting.filter((one) => !open.includes(one));
  for (const { done } of open) done();
}

function open(thin: Pick<Thin, 'held'>, name: string): Thin['stream'] {
  const client = createPolicyClient(address, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
  });
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${key}`);
  const stream = client.sync(metadata);
  stream.on('data', (message: SyncResponse__Output) => {
    const said = message.snapshot ?? message.unchanged;
    const revision = said?.revision ?? message.delta?.to ?? null;
    const hash = said?.hash ?? message.delta?.hash;
    if (revision === null || hash === undefined) return;
    if (message.message !== 'unchanged') {
      newest = message;
      pushed += policyService.Sync.responseSerialize(message).length;
    }
    thin.held = { revision, hash };
    stream.write({ ack: { revision, hash } });
    acknowledged(thin, revision.number);
  });
  stream.on('error', (error: Error) => {
    if (/CANCELLED/.test(error.message)) return;
    // Many are refused at once, so a thin sidecar retries as a real one does.
    setTimeout(() => Object.assign(thin, { stream: open(thin, name) }), 100 + Math.random() * 400);
  });
  stream.on('status', () => client.close());
  stream.write({
    hello: {
      sidecarId: name,
      bootId: name,
      form: 'FORM_PROCESS',
      schemaVersion: snapshotSchemaVersion,
      ...(thin.held === null ? {} : { held: thin.held.revision, heldHash: thin.held.hash }),
    },
  });
  return stream;
}

const thins: Thin[] = Array.from({ length: Number(count) }, (_, at) => {
  const thin = { held: null };
  return Object.assign(thin, { stream: open(thin, `thin-${at}`) });
});

if (real === 'real') {
  const log = { debug: () => {}, info: () => {}, warn: console.error, error: console.error };
  const sidecar = await startSidecar({
    form: 'process',
    controlPlane: address,
    key,
    plaintext: true,
    spoolDir: mkdtempSync(join(tmpdir(), 'tollgate-bench-real-')),
    durability: 'kernel',
    spoolBytesMax: 64 * 1024 ** 2,
    keepInput: false,
    sidecarId: 'real',
    log,
  });
  sidecar.cell.onSwap(({ revision }) => acknowledged(sidecar, revision));
  if (sidecar.cell.current !== null) acknowledged(sidecar, sidecar.cell.current.revision);
}

const app = fastify();
app.get<{ Querystring: { readonly revision: string } }>('/wait', async ({ query }): Promise<FollowReport> => {
  const revision = Number(query.revision);
  if (!isReached(revision)) await new Promise<void>((done) => waiting.push({ revision, done }));
  return { lastAt, bytes: newest === null ? '' : policyService.Sync.responseSerialize(newest).toString('base64') };
});
app.post('/reconnect', async () => {
  const revision = Math.max(...reached.values());
  pushed = 0;
  for (const thin of thins) reached.delete(thin);
  for (const thin of thins) thin.stream.cancel();
  for (const [at, thin] of thins.entries()) thin.stream = open(thin, `thin-${at}`);
  await new Promise<void>((done) => waiting.push({ revision, done }));
  return { pushed };
});
app.post('/deafen', async () => {
  const [deaf] = thins.splice(0, 1);
  if (deaf === undefined) throw new Error('there is no follower to deafen');
  deaf.stream.pause();
  // It is counted as if it had acknowledged everything, so that no request waits for it.
  reached.set(deaf, Number.MAX_SAFE_INTEGER);
  return {};
});
const port = new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port;
process.stdout.write(`  port  ${port}\n`);
process.once('SIGTERM', () => process.exit(0));
