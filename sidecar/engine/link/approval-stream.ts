// Connects to the ledger of approvals over gRPC with one stream. The stream is open after the control plane has accepted
// its `hello`. Answers may come in any order: each has the number of its request.
import { type ServiceError, status } from '@grpc/grpc-js';
import { type ApproveRequest, type ApproveResponse__Output, createApprovalClient } from '@tollgate/proto';
import {
  type ApprovalAsk,
  approvalRefusals,
  type ApprovalStatus,
  approvalStates,
  type AskedCall,
  type AskResult,
  capabilities,
  type ClaimResult,
} from '@tollgate/proto/contract';
import type { OpenApprovals } from '../approvals/asked-link.ts';
import type { Channel } from './channel.ts';
import { endTogether, ownConnection } from './own-connection.ts';

/** The errors after which another control plane can answer at once. */
const passing: readonly status[] = [status.UNAVAILABLE, status.CANCELLED];
/** The maximum number of requests of a stream without an answer, with those that no one waits for any more. */
const unansweredMax = 10_000;
/** How long a closed stream may still send what was written, in ms. */
const flushMs = 500;

interface Unanswered {
  readonly answer: (response: ApproveResponse__Output) => void;
  readonly fail: (error: Error) => void;
}

export const openApprovalStream =
  (channel: Channel, { sidecarId }: { readonly sidecarId: string }): OpenApprovals =>
  (hearing) => {
    const client = createApprovalClient(channel.address, channel.credentials(), ownConnection(channel));
    const stream = endTogether(client, client.approve(channel.metadata()));
    const unanswered = new Map<number, Unanswered>();
    let lastNumber = 0;
    let isOver = false;

    const end = (problem: string): void => {
      isOver = true;
      for (const { fail } of unanswered.values()) fail(new Error(problem));
      unanswered.clear();
    };
    const over = (problem: string, code: status | null): void => {
      if (isOver) return;
      end(problem);
      hearing.lost(problem, code !== null && !passing.includes(code));
    };
    /** `read`: converts the answer. An answer that cannot be read is an error, and the request is sent again. */
    const request = <T>(message: (number: number) => ApproveRequest, read: (response: ApproveResponse__Output) => T): Promise<T> =>
      new Promise((done, fail) => {
        if (isOver) return fail(new Error('the approval stream has ended'));
        if (unanswered.size >= unansweredMax) return fail(new Error('the control plane answers too few questions'));
        const number = (lastNumber += 1);
        const answer = (response: ApproveResponse__Output): void => {
          try {
            done(read(response));
          } catch (error) {
            fail(error);
          }
        };
        unanswered.set(number, { answer, fail });
        stream.write(message(number));
      });

    stream.on('metadata', () => hearing.opened());
    stream.on('data', (response: ApproveResponse__Output) => {
      if (response.decided != null) {
        const approval = statusFrom(response.decided);
        if (approval !== null) hearing.decided(approval);
        return;
      }
      const number = (response.asked ?? response.claimed ?? response.read)?.number ?? 0;
      const asked = unanswered.get(number);
      unanswered.delete(number);
      asked?.answer(response);
    });
    stream.on('error', (error: ServiceError) => over(error.details || error.message, error.code));
    stream.on('end', () => {
      stream.end();
      over('the control plane ended the stream', null);
    });
    stream.write({ hello: { sidecarId, capabilities: [...capabilities] } });

    return {
      ask: (ask) => request((number) => ({ ask: { number, ...messageOf(ask) } }), askResultFrom),
      watch: (approvalId) => void (isOver || stream.write({ watch: { approvalId } })),
      claim: (approvalId, requestId, call) =>
        request((number) => ({ claim: { number, approvalId, requestId, call: callOf(call) } }), claimResultFrom),
      returnUse: (approvalId, requestId) => void (isOver || stream.write({ return: { approvalId, requestId } })),
      read: (approvalId, keyId) => request((number) => ({ read: { number, approvalId, keyId } }), approvalFrom),
      close: () => {
        if (isOver) return;
        end('the approval stream was closed');
        // What was written is sent first, because it may return a use.
        stream.end();
        setTimeout(() => stream.cancel(), flushMs).unref();
      },
    };
  };

// Converts messages of `ApprovalService` from and to the plain values that the keeper uses.

type Message = NonNullable<ApproveRequest['ask']>;

const messageOf = ({ call, findings, hidden, revision, ...ask }: ApprovalAsk): Message => ({
  ...ask,
  call: callOf(call),
  findings: [...findings],
  hidden: [...hidden],
  revision: { ...revision },
});

const callOf = ({ agents, inputSha256, rules, ...call }: AskedCall): NonNullable<Message['call']> => ({
  ...call,
  agents: [...agents],
  inputSha256: Buffer.from(inputSha256, 'hex'),
  rules: rules.map(({ terms, ...rule }) => ({ ...rule, terms: JSON.stringify(terms) })),
});

const unreadable = (): never => {
  throw new Error('the control plane sent an answer that this version cannot read');
};

type StatusMessage = NonNullable<ApproveResponse__Output['decided']>;

function statusFrom({ approvalId, state, by, at, note, remainingMs }: StatusMessage): ApprovalStatus | null {
  const known = approvalStates.find((one) => `APPROVAL_STATE_${one.toUpperCase()}` === state);
  if (known === undefined || approvalId === '') return null;
  return { approvalId, state: known, by: by || null, at: at || null, note: note || null, remainingMs };
}

function askResultFrom({ asked }: ApproveResponse__Output): AskResult {
  if (asked?.approval != null) return { kind: 'approval', approval: statusFrom(asked.approval) ?? unreadable(), isNew: asked.isNew };
  if (asked?.refused == null) return unreadable();
  const { code, words, retryAfterMs } = asked.refused;
  const known = approvalRefusals.find((one) => one === code);
  if (known === undefined && code !== '') return unreadable();
  return { kind: 'refused', code: known ?? null, words, retryAfterMs: retryAfterMs === 0 ? null : retryAfterMs };
}

function claimResultFrom({ claimed }: ApproveResponse__Output): ClaimResult {
  if (claimed?.approval == null) return unreadable();
  return { granted: claimed.granted, isFirstUse: claimed.isFirstUse, approval: statusFrom(claimed.approval) ?? unreadable() };
}

function approvalFrom({ read }: ApproveResponse__Output): ApprovalStatus | null {
  if (read == null) return unreadable();
  return read.approval == null ? null : (statusFrom(read.approval) ?? unreadable());
}
