// A real HTTP response: the writer decides what is sent together, and how long a client waits for the head.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyReply } from 'fastify';
import { afterEach, expect, test } from 'vitest';
import { openWriter, type StreamWriter } from '../../../../../sidecar/doors/mcp/http/writer.ts';

const server = createServer();
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const turn = (): Promise<void> => new Promise((next) => setImmediate(next));
const sent = ({ socket }: ServerResponse): number => socket?.bytesWritten ?? -1;

async function opened(): Promise<{ readonly response: ServerResponse; readonly writer: StreamWriter; readonly client: Promise<Response> }> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const asked = new Promise<ServerResponse>((done) => server.once('request', (_request, response) => done(response)));
  const client = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const response = await asked;
  const reply = { raw: response, hijack: () => reply } as unknown as FastifyReply;
  return { response, writer: openWriter(reply, 200, {}, new AbortController().signal), client };
}

test('the head waits for an event that is written in the next turn, and is sent together with it', async () => {
  const { response, writer, client } = await opened();
  await turn();
  expect(sent(response)).toBe(0);
  await writer.send('{}');
  writer.end();
  expect(await (await client).text()).toBe('data: {}\n\n');
});

test('without an event, the client gets the head after two turns, and later events follow it', async () => {
  const { response, writer, client } = await opened();
  await turn();
  await turn();
  await turn();
  expect(sent(response)).toBeGreaterThan(0);
  const { status, headers, body } = await client;
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  await writer.send('{}');
  writer.end();
  expect(await new Response(body).text()).toBe('data: {}\n\n');
});

test('a stream that ends without an event is complete', async () => {
  const { writer, client } = await opened();
  writer.end();
  expect(await (await client).text()).toBe('');
});
