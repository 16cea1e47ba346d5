// Connects to the ledger over gRPC with one stream. Its messages are answered one by one, in order. The stream is open
// after the control plane has accepted its `hello`.
import { type ServiceError, status } from '@grpc/grpc-js';
import {
  type Answer__Output,
  counterFrom,
  counterOf,
  createQuotaClient,
  type LeaseRequest,
  type LeaseResponse__Output,
} from '@tollgate/proto';
import { capabilities, type QuotaAnswer, type QuotaAsk, type QuotaCounter, type QuotaResult } from '@tollgate/proto/contract';
import type { Channel } from './channel.ts';
import type { OpenQuota } from './lease-keeper.ts';
import { endTogether, ownConnection } from './own-connection.ts';

export interface QuotaStreamConfig {
  readonly sidecarId: string;
  /** 32 bytes, kept secret from all others. */
  readonly holderSecret: Buffer;
}

interface PendingAsk {
  readonly answer: (answers: readonly QuotaAnswer[]) => void;
  readonly fail: (error: Error) => void;
}

/**
 * The errors after which another control plane can answer at once. A control plane that stops normally cancels its open
 * streams.
 */
const passing: readonly status[] = [status.UNAVAILABLE, status.CANCELLED];

export const openQuotaStream =
  (channel: Channel, { sidecarId, holderSecret }: QuotaStreamConfig): OpenQuota =>
  (hearing) => {
    const client = createQuotaClient(channel.address, channel.credentials(), ownConnection(channel));
    const stream = endTogether(client, client.lease(channel.metadata()));
    const asked: PendingAsk[] = [];
    let isOver = false;

    const over = (problem: string, code: status | null): void => {
      if (isOver) return;
      isOver = true;
      for (const { fail } of asked.splice(0)) fail(new Error(problem));
      hearing.lost(problem, code !== null && !passing.includes(code));
    };

    stream.on('metadata', () => hearing.opened());
    stream.on('data', ({ answers, recall }: LeaseResponse__Output) => {
      if (answers != null) asked.shift()?.answer(answersFrom(answers));
      if (recall != null) hearing.recalled(recalledFrom(recall));
    });
    stream.on('error', (error: ServiceError) => over(error.details || error.message, error.code));
    stream.on('end', () => {
      stream.end();
      over('the control plane ended the stream', null);
    });
    stream.write({ hello: { sidecarId, holderSecret, capabilities: [...capabilities] } });

    return {
      ask: (asks) =>
        new Promise((answer, fail) => {
          if (isOver) return fail(new Error('the lease stream has ended'));
          asked.push({ answer, fail });
          stream.write(asksOf(asks));
        }),
      close: () => {
        isOver = true;
        for (const { fail } of asked.splice(0)) fail(new Error('the lease stream was closed'));
        stream.cancel();
      },
    };
  };

// Converts messages of `QuotaService` from and to the plain values that leases use.

type Message = NonNullable<NonNullable<LeaseRequest['asks']>['asks']>[number];

export const asksOf = (asks: readonly QuotaAsk[]): LeaseRequest => ({ asks: { asks: asks.map(askOf) } });

const askOf = ({ counter, settled, max, made, ...ask }: QuotaAsk): Message => ({
  ...ask,
  ...(max === null ? {} : { max }),
  ...(made === null ? {} : { made }),
  counter: counterOf(counter),
  settled: settled.map(({ grantId, used }) => ({ grantId, used: [...used] })),
});

/** Converts the answers. An answer that cannot be read is skipped: its request is sent again. */
const answersFrom = (answers: NonNullable<LeaseResponse__Output['answers']>): readonly QuotaAnswer[] =>
  answers.answers.flatMap((answer) => {
    const counter = counterFrom(answer.counter);
    const result = resultFrom(answer);
    return counter === null || result === null ? [] : [{ counter, number: answer.number, result }];
  });

const recalledFrom = (recall: NonNullable<LeaseResponse__Output['recall']>): readonly QuotaCounter[] =>
  recall.counters.flatMap((counter) => counterFrom(counter) ?? []);

function resultFrom({ result, grant, full, later }: Answer__Output): QuotaResult | null {
  switch (result) {
    case 'grant':
      return grant == null ? null : { ...grant, kind: 'grant', ttlMs: grant.ttlMs ?? null, ageMs: grant.ageMs ?? null };
    case 'full':
      return full == null ? null : { kind: 'full', roomAfterMs: full.roomAfterMs ?? null, shared: full.shared };
    case 'later':
      return later == null ? null : { ...later, kind: 'later' };
    case 'none':
    case 'taken':
      return { kind: result };
    default:
      return null;
  }
}
