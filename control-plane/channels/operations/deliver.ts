// Sends one message: begins an attempt, sends, and records what became of it. Between the two transactions the process may be
// killed. Then the lease of the attempt ends, and the message is sent again with the same id: at least once.
import type pg from 'pg';
import type { AddressRules } from '@tollgate/sidecar/upstream';
import { AppError } from '@tollgate/proto/contract';
import { inTransaction } from '../../database/transaction.ts';
import { channelBounds, nextDelay } from '../rules/channel.ts';
import { digestBody } from '../rules/message.ts';
import { type ChannelTarget, findTarget } from '../store/channels.ts';
import {
  addJob,
  beginAttempt,
  countAttempts,
  endMessage,
  listDue,
  lockAttempts,
  lockMessage,
  type MessageRef,
  postpone,
} from '../store/messages.ts';
import { openChannelSecrets, unopenedWords } from './secrets.ts';
import type { ReadApprovalKeys } from '../../approvals/operations/secrets.ts';
import { sendMessage, type SendResult } from './send.ts';

/** How long one process alone makes an attempt: longer than the attempt can take. */
const leaseSeconds = 20;

export interface DeliverDeps {
  readonly pool: pg.Pool;
  readonly keys: ReadApprovalKeys;
  readonly rules: AddressRules;
  /** From 0 to 1. */
  readonly chance: () => number;
  /** An attempt ended so. */
  readonly ended: (result: 'sent' | 'retried' | 'failed') => void;
}

interface Attempt {
  readonly channel: string;
  readonly body: string;
  readonly attempts: number;
  readonly target: ChannelTarget;
}

/** Makes the attempt that was begun. Rejects only if the database does not answer. */
export type BegunDelivery = (stop: AbortSignal) => Promise<void>;

/**
 * Begins an attempt to send the message. Returns what makes it; null: none is due, or the workspace makes too many at this
 * moment. Such a message stays due, and its job is added again when an attempt of the workspace ends.
 */
export async function beginDelivery(deps: DeliverDeps, ref: MessageRef): Promise<BegunDelivery | null> {
  const attempt = await inTransaction(deps.pool, (client) => begin(client, ref));
  if (attempt === null) return null;
  return async (stop) => {
    const result = await send(deps, ref, attempt, stop);
    await inTransaction(deps.pool, (client) => record(deps, client, ref, attempt, result));
  };
}

async function begin(client: pg.PoolClient, ref: MessageRef): Promise<Attempt | null> {
  await lockAttempts(client, ref.workspaceId);
  const message = await lockMessage(client, ref);
  if (message === null || message.state !== 'waiting' || !message.isDue) return null;
  const target = await findTarget(client, ref.workspaceId, message.channel);
  if (target === null) return null;
  if ((await countAttempts(client, ref.workspaceId)) >= channelBounds.attemptsAtOnce) return null;
  const body = message.body ?? digestBody(target.workspace, message.digest, message.now);
  await beginAttempt(client, ref, body, leaseSeconds);
  return { channel: message.channel, body, attempts: message.attempts + 1, target };
}

async function send(deps: DeliverDeps, { workspaceId, id }: MessageRef, attempt: Attempt, stop: AbortSignal): Promise<SendResult> {
  const { channel, body, target } = attempt;
  const failed = (problem: string): SendResult => ({ kind: 'failed', problem, isFinal: false, askedMs: null });
  try {
    const secrets = await openChannelSecrets(deps.keys, workspaceId, channel, target);
    if (secrets === null) return failed(unopenedWords);
    return await sendMessage(deps.rules, { id, body, url: target.url, secrets, at: target.now }, stop);
  } catch (error) {
    if (error instanceof AppError) return failed(error.publicMessage);
    throw error;
  }
}

async function record(deps: DeliverDeps, client: pg.PoolClient, ref: MessageRef, { attempts }: Attempt, result: SendResult): Promise<void> {
  const ended = await recordResult(deps, client, ref, attempts, result);
  // Those that found the workspace crowded have no job.
  for (const due of await listDue(client, ref.workspaceId, channelBounds.attemptsAtOnce)) await addJob(client, due);
  deps.ended(ended);
}

async function recordResult(
  { chance }: DeliverDeps,
  client: pg.PoolClient,
  ref: MessageRef,
  attempts: number,
  result: SendResult,
): Promise<'sent' | 'retried' | 'failed'> {
  if (result.kind === 'sent') {
    await endMessage(client, ref, 'sent', null);
    return 'sent';
  }
  const { problem, isFinal, askedMs } = result;
  const delay = isFinal ? null : nextDelay(attempts, askedMs, chance());
  if (delay === null) await endMessage(client, ref, 'failed', problem);
  else await postpone(client, ref, delay, problem);
  return delay === null ? 'failed' : 'retried';
}
