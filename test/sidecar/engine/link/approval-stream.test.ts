// The stream to the ledger of approvals: what is written and read, and how it ends.
import { type handleBidiStreamingCall, Server, ServerCredentials, status } from '@grpc/grpc-js';
import { approvalService, type ApproveRequest__Output, type ApproveResponse } from '@tollgate/proto';
import type { ApprovalLink, ApprovalStatus } from '@tollgate/proto/contract';
import { expect, onTestFinished, test } from 'vitest';
import { createChannel } from '../../../../sidecar/engine/link/channel.ts';
import { openApprovalStream } from '../../../../sidecar/engine/link/approval-stream.ts';
import { askFor } from '../../../support/approval-asks.ts';

type Approve = handleBidiStreamingCall<ApproveRequest__Output, ApproveResponse>;

async function serve(Approve: Approve): Promise<number> {
  const server = new Server();
  server.addService({ ...approvalService }, { Approve });
  onTestFinished(() => server.forceShutdown());
  return new Promise((done, fail) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => (error === null ? done(port) : fail(error))),
  );
}

/** Answers each message by `answer`. */
const answering =
  (answer: (message: ApproveRequest__Output) => ApproveResponse | null): Approve =>
  (stream) => {
    stream.on('data', (message: ApproveRequest__Output) => {
      if (message.hello != null) return stream.sendMetadata(stream.metadata);
      const response = answer(message);
      if (response !== null) stream.write(response);
    });
    stream.on('end', () => stream.end());
  };

function open(port: number) {
  const channel = createChannel({
    controlPlane: `127.0.0.1:${port}`,
    key: `gsk_acme_${'k'.repeat(32)}`,
    plaintext: true,
    linkCredentials: null,
  });
  const decided: ApprovalStatus[] = [];
  return new Promise<{ readonly link: ApprovalLink; readonly decided: readonly ApprovalStatus[]; readonly lost: Promise<boolean> }>(
    (done) => {
      let fail = (_barred: boolean): void => undefined;
      const lost = new Promise<boolean>((ended) => (fail = ended));
      const link = openApprovalStream(channel, { sidecarId: 's' })({
        opened: () => done({ link, decided, lost }),
        lost: (_problem, barred) => {
          fail(barred);
          done({ link, decided, lost });
        },
        decided: (approval) => decided.push(approval),
      });
      onTestFinished(() => link.close());
    },
  );
}

const approval = { approvalId: 'ap-1', state: 'APPROVAL_STATE_PENDING', by: '', at: '', note: '', remainingMs: 1_000 } as const;
const asStatus = { approvalId: 'ap-1', state: 'pending', by: null, at: null, note: null, remainingMs: 1_000 };

test('each question has its own answer, whatever their order, with all that the question says', async () => {
  const seen: ApproveRequest__Output[] = [];
  const port = await serve(
    answering((message) => {
      seen.push(message);
      const { ask, claim, read } = message;
      if (ask != null) return { asked: { number: ask.number, approval, isNew: true } };
      if (claim != null)
        return {
          claimed: {
            number: claim.number,
            granted: true,
            isFirstUse: true,
            approval: { ...approval, state: 'APPROVAL_STATE_USED', by: 'ann' },
          },
        };
      return read == null ? null : { read: { number: read.number } };
    }),
  );
  const { link } = await open(port);
  const ask = { ...askFor(), hidden: [{ path: 'a', kind: 'password', length: 3, value: '"abc"' }] };
  expect(await Promise.all([link.read('ap-1', 'k1'), link.ask(ask), link.claim('ap-1', 'r1', ask.call)])).toEqual([
    null,
    { kind: 'approval', approval: asStatus, isNew: true },
    { granted: true, isFirstUse: true, approval: { ...asStatus, state: 'used', by: 'ann' } },
  ]);
  const [, asked] = seen;
  expect(asked?.ask?.call?.inputSha256.toString('hex')).toBe(ask.call.inputSha256);
  expect(JSON.parse(asked?.ask?.call?.rules[0]?.terms ?? '')).toEqual(ask.call.rules[0]?.terms);
  expect(asked?.ask).toMatchObject({ shownInput: ask.shownInput, hidden: ask.hidden, mayCreate: true });
});

test('a refusal is read with its code, and an unknown code is an error', async () => {
  let code = 'approvals_full';
  const port = await serve(
    answering(({ ask }) => ({ asked: { number: ask?.number ?? 0, refused: { code, words: 'too many', retryAfterMs: 60_000 } } })),
  );
  const { link } = await open(port);
  expect(await link.ask(askFor())).toEqual({ kind: 'refused', code: 'approvals_full', words: 'too many', retryAfterMs: 60_000 });
  code = 'made_up';
  await expect(link.ask(askFor())).rejects.toThrow('cannot read');
});

test('what was written before the stream was closed arrives', async () => {
  let heard = (_requestId: string): void => undefined;
  const returned = new Promise<string>((done) => (heard = done));
  const port = await serve(
    answering((message) => {
      if (message.return != null) heard(message.return.requestId);
      return null;
    }),
  );
  const { link } = await open(port);
  link.returnUse('ap-1', 'r1');
  link.close();
  expect(await returned).toBe('r1');
});

test('a control plane that refuses causes a wait, and unanswered questions fail', async () => {
  const port = await serve((stream) => {
    stream.sendMetadata(stream.metadata);
    stream.on('data', ({ ask }: ApproveRequest__Output) => {
      if (ask != null) stream.emit('error', { code: status.UNAUTHENTICATED, details: 'no such key' });
    });
  });
  const { link, lost } = await open(port);
  await expect(link.ask(askFor())).rejects.toThrow('no such key');
  expect(await lost).toBe(true);
});
