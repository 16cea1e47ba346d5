// The inspector protocol of a Node process, over its WebSocket:
// https://chromedevtools.github.io/devtools-protocol/v8/Profiler. Called by programs.ts.
import { WebSocket } from 'undici';
import { isRecord } from '../../support/checkout/tree.ts';

export interface Inspector {
  /** Rejects where the process refuses the command, or has ended. */
  send(method: string, params?: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>>;
  close(): void;
}

interface Waiting {
  readonly done: (result: Readonly<Record<string, unknown>>) => void;
  readonly fail: (error: Error) => void;
}

export async function openInspector(url: string): Promise<Inspector> {
  const socket = new WebSocket(url);
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  await new Promise<void>((done, fail) => {
    socket.addEventListener('open', () => done());
    socket.addEventListener('error', () => fail(new Error(`the inspector at ${url} cannot be reached`)));
  });
  socket.addEventListener('message', ({ data }) => {
    const answer: unknown = JSON.parse(String(data));
    if (!isRecord(answer) || typeof answer['id'] !== 'number') return;
    const { id, error, result } = answer;
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) asked?.fail(new Error(`the inspector refused: ${JSON.stringify(error)}`));
    else asked?.done(isRecord(result) ? result : {});
  });
  socket.addEventListener('close', () => {
    for (const { fail } of waiting.values()) fail(new Error('the process ended while it was asked'));
    waiting.clear();
  });
  return {
    send(method, params = {}) {
      if (socket.readyState !== WebSocket.OPEN) return Promise.reject(new Error('the process has ended'));
      const id = ++lastId;
      const answered = new Promise<Readonly<Record<string, unknown>>>((done, fail) => waiting.set(id, { done, fail }));
      socket.send(JSON.stringify({ id, method, params }));
      return answered;
    },
    close: () => socket.close(),
  };
}
