// A collector of logs over real HTTP. It parses requests by the protocol and answers as a test says. It holds exactly
// the records that it answered with 2xx.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Value = string | number | boolean;

export interface LogRecord {
  readonly at: bigint;
  readonly observedAt: bigint;
  readonly severity: string;
  readonly eventName: string;
  readonly body: string;
  readonly attributes: Readonly<Record<string, Value>>;
  readonly resource: Readonly<Record<string, Value>>;
  readonly traceId: string | null;
  readonly spanId: string | null;
}

export interface CollectorPost {
  /** From 1 on. */
  readonly nth: number;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: number;
  readonly records: readonly LogRecord[];
}

/** `take`: 200. `cut`: no answer, the connection is closed. `hang`: no answer until the test releases it. */
export type Reply =
  | 'take'
  | 'cut'
  | 'hang'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown };

export interface Collector {
  readonly url: string;
  /** The records that it answered with 2xx, in that order. */
  readonly held: LogRecord[];
  readonly posts: CollectorPost[];
  reply: (post: CollectorPost) => Reply | Promise<Reply>;
  /** Resolves when `done` is true; checked at each request and each answer. */
  until(done: () => boolean): Promise<void>;
  close(): Promise<void>;
}

export async function startCollector(port = 0): Promise<Collector> {
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const one of waiting) one();
  };
  const hung = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    receive(request, response).catch((error: unknown) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ message: String(error) }));
    });
  });
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const bytes = Buffer.concat(chunks);
    const records = recordsIn(JSON.parse(bytes.toString('utf8')));
    const post = { nth: collector.posts.length + 1, path: request.url ?? '', headers: request.headers, bytes: bytes.length, records };
    collector.posts.push(post);
    tell();
    const reply = await collector.reply(post);
    if (reply === 'hang') hung.add(response);
    else if (reply === 'cut') response.destroy();
    else {
      const { status, headers = {}, body = {} } = reply === 'take' ? { status: 200 } : reply;
      if (status >= 200 && status < 300) collector.held.push(...records);
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    }
    tell();
  };
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const collector: Collector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`,
    held: [],
    posts: [],
    reply: () => 'take',
    until: (done) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!done()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return collector;
}

type Fields = Readonly<Record<string, unknown>>;

function recordsIn(request: unknown): readonly LogRecord[] {
  return listIn(request, 'resourceLogs').flatMap((one) => {
    const resource = attributesIn(fieldsIn(one['resource'])['attributes']);
    return listIn(one, 'scopeLogs').flatMap((scope) => listIn(scope, 'logRecords').map((record) => recordIn(record, resource)));
  });
}

const known = new Set([
  'timeUnixNano',
  'observedTimeUnixNano',
  'severityNumber',
  'severityText',
  'eventName',
  'body',
  'attributes',
  'traceId',
  'spanId',
]);

function recordIn(record: Fields, resource: LogRecord['resource']): LogRecord {
  const strange = Object.keys(record).find((key) => !known.has(key));
  if (strange !== undefined) throw new Error(`a log record has no ${strange}`);
  const { severityNumber, severityText, eventName, traceId, spanId } = record;
  if (!Number.isInteger(severityNumber)) throw new Error('severityNumber is no integer');
  return {
    at: nanosIn(record['timeUnixNano']),
    observedAt: nanosIn(record['observedTimeUnixNano']),
    severity: textIn(severityText),
    eventName: textIn(eventName),
    body: textIn(fieldsIn(record['body'])['stringValue']),
    attributes: attributesIn(record['attributes']),
    resource,
    traceId: idIn(traceId, 32),
    spanId: idIn(spanId, 16),
  };
}

const fieldsIn = (value: unknown): Fields => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return { ...value };
};

function listIn(value: unknown, key: string): readonly Fields[] {
  const list = fieldsIn(value)[key];
  if (!Array.isArray(list)) throw new Error(`${key} is not a list`);
  return list.map(fieldsIn);
}

function textIn(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`no text: ${JSON.stringify(value)}`);
  return value;
}

function nanosIn(value: unknown): bigint {
  if (typeof value !== 'string' || !/^\d+$/.test(value)) throw new Error('an integer of 64 bits is not text');
  return BigInt(value);
}

function idIn(value: unknown, digits: number): string | null {
  if (value === undefined) return null;
  if (typeof value !== 'string' || value.length !== digits || !/^[0-9a-f]+$/i.test(value)) throw new Error('an id is not in hex');
  return value;
}

function attributesIn(list: unknown): LogRecord['attributes'] {
  if (!Array.isArray(list)) throw new Error('attributes are no list');
  const all = list.map((one: unknown) => [textIn(fieldsIn(one)['key']), valueIn(fieldsIn(fieldsIn(one)['value']))] as const);
  if (new Set(all.map(([key]) => key)).size !== all.length) throw new Error('an attribute appears twice');
  return Object.fromEntries(all);
}

function valueIn(value: Fields): Value {
  const [[kind, held] = ['', null], ...more] = Object.entries(value);
  if (more.length > 0) throw new Error('a value is of several kinds');
  if (kind === 'stringValue') return textIn(held);
  if (kind === 'intValue') return Number(nanosIn(held));
  if (kind === 'boolValue' && typeof held === 'boolean') return held;
  if (kind === 'doubleValue' && typeof held === 'number') return held;
  throw new Error(`no value: ${kind}`);
}
