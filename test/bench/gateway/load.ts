// Sends requests over kept connections with as little work of its own as possible: the bytes of one request, again and
// again. Of each answer it reads the status and the length. Any status except 200 is an error, because a refused
// request has not been measured.
import { connect, type Socket } from 'node:net';

export interface Connection {
  /** Sends the request; resolves with the ms until the whole answer has arrived. */
  ask(): Promise<number>;
  close(): void;
}

/** The bytes of a POST with a JSON body. */
export function postOf(port: number, path: string, headers: Readonly<Record<string, string>>, body: string): Buffer {
  const lines = [
    `POST ${path} HTTP/1.1`,
    `host: 127.0.0.1:${port}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`);
}

export async function open(port: number, request: Buffer): Promise<Connection> {
  const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await new Promise<void>((done, fail) => socket.once('connect', done).once('error', fail));
  let heard = '';
  let waiting: { readonly startedAt: number; readonly done: (ms: number) => void; readonly fail: (error: Error) => void } | null = null;
  const end = (error: Error): void => waiting?.fail(error);
  socket.on('error', end).on('close', () => end(new Error('the connection was closed')));
  socket.setEncoding('latin1').on('data', (piece: string) => {
    heard = heard === '' ? piece : heard + piece;
    const whole = isWhole(heard);
    if (whole === null || waiting === null) return;
    const { startedAt, done, fail } = waiting;
    const said = heard;
    waiting = null;
    heard = '';
    if (whole === 200) done(performance.now() - startedAt);
    else fail(new Error(said.slice(0, 500)));
  });
  return {
    ask: () =>
      new Promise((done, fail) => {
        waiting = { startedAt: performance.now(), done, fail };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** Returns the status once the whole answer has arrived, otherwise null. */
function isWhole(text: string): number | null {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, head))?.[1];
  const ended = length === undefined ? text.endsWith('0\r\n\r\n') : text.length - head - 4 >= Number(length);
  return ended ? Number(text.slice(9, 12)) : null;
}

/** Requests per second, where each connection sends the next request as soon as it was answered. */
export async function capacityOf(connections: readonly Connection[], ms: number): Promise<number> {
  const startedAt = performance.now();
  let answered = 0;
  await Promise.all(
    connections.map(async (connection) => {
      while (performance.now() - startedAt < ms) {
        await connection.ask();
        answered += 1;
      }
    }),
  );
  return (answered * 1000) / (performance.now() - startedAt);
}

/** Ms of each request. Requests start at an even pace, `perSecond`, whether or not earlier ones have been answered. */
export async function latenciesAt(connections: readonly Connection[], perSecond: number, ms: number): Promise<readonly number[]> {
  const idle = [...connections];
  const latencies: number[] = [];
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let due = 0; due < (ms * perSecond) / 1000; due++) {
    // The event loop runs meanwhile; timers would group the requests by the millisecond.
    while (performance.now() - startedAt < (due * 1000) / perSecond || idle.length === 0) await new Promise(setImmediate);
    const connection = idle.pop();
    if (connection === undefined) continue;
    asked.push(
      connection.ask().then((took) => {
        latencies.push(took);
        idle.push(connection);
      }),
    );
  }
  await Promise.all(asked);
  return latencies;
}
