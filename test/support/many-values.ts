// Many callers send the most expensive JSON at one time, as bodies or as messages of tool servers, in a heap of a size
// that the caller of this program chose. The program prints how many were read, and how many were refused with a retry.
// `body-memory.test.ts` starts it.
import { setImmediate as turn } from 'node:timers/promises';
import { bounds } from '@tollgate/proto/contract';
import { fastify } from 'fastify';
import { parseBody } from '../../control-plane/http/json-body.ts';
import { BodyMemory } from '../../sidecar/doors/entrance/body-memory.ts';
import { type Relaying, relayedText } from '../../sidecar/doors/mcp/request/relay.ts';
import { messageNodes } from '../../sidecar/upstream/wire/server-message.ts';
import { shareFairly } from '../../sidecar/doors/entrance/share-fairly.ts';
import { parseStrict } from '../../sidecar/engine/json/strict-json.ts';

const [what, counted] = process.argv.slice(2);
const uncounted = counted === 'uncounted' ? { valueBytes: 0 } : {};

/** Objects with one key each that no other object has. */
const dearest = (values: number): string => `[${Array.from({ length: Math.floor(values / 2) - 1 }, (_, at) => `{"k${at}":0}`).join(',')}]`;

interface Bodies {
  readonly memory: BodyMemory;
  readonly bodyLimit: number;
  readonly values: number;
  readonly parse: (body: Buffer) => unknown;
  readonly times: number;
}

/** Parsed values are kept until all bodies were read or refused. */
async function sendBodies({ memory, bodyLimit, values, parse, times }: Bodies) {
  const app = fastify({ bodyLimit });
  shareFairly(app, { clock: { now: () => 0 }, bodies: memory, missing: () => undefined, whose: (key) => key ?? null });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  const counts = { read: 0, later: 0 };
  let release = (): void => undefined;
  const all = new Promise<void>((done) => (release = done));
  const look = (): void => {
    if (counts.read + counts.later === times) release();
  };
  app.post('/', async ({ body }) => {
    const kept = parse(body as Buffer);
    counts.read += 1;
    look();
    await all;
    return { ok: kept !== undefined };
  });
  // Keeps the process alive while bodies are pending.
  await app.listen({ port: 0, host: '127.0.0.1' });
  const payload = Buffer.from(dearest(values));
  const send = async (caller: number): Promise<void> => {
    const { statusCode } = await app.inject({ method: 'POST', url: '/', headers: { authorization: `key-${caller % 8}` }, payload });
    if (statusCode === 429) counts.later += 1;
    else if (statusCode !== 200) throw new Error(`the answer was ${statusCode}`);
    look();
  };
  await Promise.all(Array.from({ length: times }, (_, at) => send(at)));
  await app.close();
  return counts;
}

/** Each is kept for some turns of the event loop, as long as its entry is written. */
async function sendMessages(times: number) {
  // No message is refused because a busy machine reads slowly.
  const memory = new BodyMemory({ waitMs: 120_000, ...uncounted });
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${dearest(messageNodes - 10)}}`);
  const settle = async ({ value }: { readonly value: unknown }): Promise<string> => {
    for (let turns = 0; turns < 20; turns += 1) await turn();
    return String((value as readonly unknown[]).length);
  };
  const relayed = (caller: number): Promise<string | null> =>
    relayedText(
      { memory, keyId: `key-${caller % 3}`, signal: new AbortController().signal, take: () => ({ settle }) } as unknown as Relaying,
      bytes,
    );
  const texts = await Promise.all(Array.from({ length: times }, (_, at) => relayed(at)));
  return { read: texts.filter((text) => text !== null).length, later: 0 };
}

const send = {
  bodies: () =>
    sendBodies({
      memory: new BodyMemory(uncounted),
      bodyLimit: bounds.bodyBytes,
      values: bounds.jsonNodes,
      parse: (body) => parseStrict(body),
      times: 60,
    }),
  sets: () =>
    sendBodies({
      memory: new BodyMemory({ bytes: 8 * bounds.policySetBytes, valueBytes: 128, ...uncounted }),
      bodyLimit: bounds.policySetBytes,
      values: bounds.policySetNodes,
      parse: (body) => parseBody(body, bounds.policySetNodes),
      times: 8,
    }),
  messages: () => sendMessages(8),
}[what as 'bodies' | 'sets' | 'messages'];

process.stdout.write(JSON.stringify(await send()));
