// A bare grpc-js server that writes given bytes to every stream: the minimum time that a push to so many streams can
// take.
import { type handleBidiStreamingCall, Server, ServerCredentials } from '@grpc/grpc-js';
import { policyService, type SyncRequest__Output } from '@tollgate/proto';
import { fastify } from 'fastify';
import { wallTimeMs } from './said.ts';

type Stream = Parameters<handleBidiStreamingCall<SyncRequest__Output, Buffer>>[0];

const streams = new Set<Stream>();
const server = new Server();
server.addService(
  { ...policyService, Sync: { ...policyService.Sync, responseSerialize: (bytes: Buffer) => bytes } },
  {
    Sync: (stream: Stream) => {
      streams.add(stream);
      stream.on('data', () => {}).on('error', () => streams.delete(stream));
    },
  },
);
const grpc = await new Promise<number>((done, fail) =>
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) => (error === null ? done(bound) : fail(error))),
);
const app = fastify({ bodyLimit: 64 * 1024 * 1024 });
app.post<{ Body: { readonly bytes: string } }>('/push', async ({ body }) => {
  const bytes = Buffer.from(body.bytes, 'base64');
  const startedAt = wallTimeMs();
  for (const stream of streams) stream.write(bytes);
  return { startedAt, streams: streams.size };
});
const http = new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port;
process.stdout.write(`  gRPC  ${grpc}\n  port  ${http}\n`);
process.once('SIGTERM', () => process.exit(0));
