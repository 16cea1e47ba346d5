// A control plane with `QuotaService` only, on loopback: the real ledger, in memory, for limits that a test names.
import { Metadata, Server, ServerCredentials, type ServerDuplexStream, status } from '@grpc/grpc-js';
import { type LeaseRequest__Output, type LeaseResponse, type QuotaServiceHandlers, quotaService } from '@tollgate/proto';
import { type QuotaAsk, quotaCounterKey } from '@tollgate/proto/contract';
import { onTestFinished } from 'vitest';
import { askLedger, type CounterState, type CounterSettings, freshCounter } from '../../control-plane/quota/rules/ledger.ts';
import { answersOf, asksFrom, recallOf } from '../../control-plane/grpc/quota-messages.ts';

type Stream = ServerDuplexStream<LeaseRequest__Output, LeaseResponse>;

export interface QuotaServer {
  readonly address: string;
  /** By the id of a limit, or of an agent. */
  readonly limits: Map<string, number>;
  /** Every received request, in order. */
  readonly asks: readonly QuotaAsk[];
  /** Whether it answers requests. */
  answers: boolean;
  /** How many streams are open. */
  readonly streams: number;
  /** Ends every stream. */
  cut(code: status, details: string): void;
  stop(): void;
}

export async function startQuotaServer(port = 0): Promise<QuotaServer> {
  const states = new Map<string, CounterState>();
  const holders = new Map<Stream, string>();
  const asked: QuotaAsk[] = [];

  const answer = (stream: Stream, holder: string, asks: readonly QuotaAsk[]): void => {
    const answers = asks.map((ask) => {
      const { counter, number } = ask;
      asked.push(ask);
      const key = quotaCounterKey(counter);
      const max = server.limits.get(counter.kind === 'limit' ? counter.id : counter.agentId);
      if (max === undefined) return { counter, number, result: { kind: 'none' } as const };
      const settings: CounterSettings = counter.kind === 'limit' ? { kind: 'window', windowSeconds: 60, max } : { kind: 'total', max };
      const outcome = askLedger(states.get(key) ?? freshCounter(Date.now()), settings, { ...ask, holder }, Date.now());
      if ('falseClaim' in outcome) throw new Error(outcome.falseClaim);
      states.set(key, outcome.state);
      for (const [other, name] of holders) if (outcome.recall.some(({ holder: one }) => one === name)) other.write(recallOf([counter]));
      return { counter, number, result: outcome.result };
    });
    if (server.answers) stream.write(answersOf(answers));
  };
  const handlers: QuotaServiceHandlers = {
    Lease: (stream) => {
      stream.on('data', (message: LeaseRequest__Output) => {
        if (message.hello != null) {
          holders.set(stream, message.hello.holderSecret.toString('hex'));
          stream.sendMetadata(new Metadata());
        }
        const asks = message.asks == null ? null : asksFrom(message.asks.asks);
        const holder = holders.get(stream);
        if (asks !== null && holder !== undefined) answer(stream, holder, asks);
      });
      for (const event of ['end', 'cancelled', 'error']) stream.on(event, () => holders.delete(stream));
    },
  };
  const grpc = new Server();
  grpc.addService(quotaService, handlers);
  const bound = await new Promise<number>((resolve, reject) => {
    grpc.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, actual) =>
      error === null ? resolve(actual) : reject(error),
    );
  });
  const server: QuotaServer = {
    address: `127.0.0.1:${bound}`,
    limits: new Map(),
    asks: asked,
    answers: true,
    get streams() {
      return holders.size;
    },
    cut: (code, details) => {
      for (const stream of holders.keys()) stream.emit('error', { code, details });
    },
    stop: () => grpc.forceShutdown(),
  };
  onTestFinished(() => server.stop());
  return server;
}
