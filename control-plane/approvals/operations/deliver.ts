// Sends one message: begins an attempt, sends, and records what became of it. Between the two transactions the process may be
// killed. Then the lease of the attempt ends, and the message is sent again with the same id: at least once.
import type pg from 'pg';
import type { AddressRules } from '@tollgate/sidecar/upstream';
import { AppError } from '@tollgate/proto/contract';
import { inTransaction } from '../../database/transaction.ts';
import { channelBounds, nextDelay } from '../rules/channel.ts';
import { digestBody } from '../rules/message.ts';
import { type ChannelTarget, findTarget } from '../store/channels.ts';
import { beginAttempt, countAttempts, endMessage, lockMessage, type MessageRef, postpone } from '../store/messages.ts';
import { openChannelSecrets, unopenedWords } from './channel-secrets.ts';
import type { ReadApprovalKeys } from './secrets.ts';
import { sendMessage, type SendResult } from './send.ts';

/** How long one process alone makes an attempt: longer than the attempt can take. */
const leaseSeconds = 20;
/** When the workspace makes too many attempts at once, the next look. */
const crowdedSeconds = 2;

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

/** Makes an attempt to send the message, if one is due. Rejects only if the database does not answer. */
export async function deliver(deps: DeliverDeps, ref: MessageRef, stop: AbortSignal): Promise<void> {
  const attempt = await inTransaction(deps.pool, (client) => begin(client, ref));
  if (attempt === null) return;
  const result = await send(deps, ref, attempt, stop);
  await inTransaction(deps.pool, (client) => record(deps, client, ref, attempt, result));
}

async function begin(client: pg.PoolClient, ref: MessageRef): Promise<Attempt | null> {
  const message = await lockMessage(client, ref);
  if (message === null || message.state !== 'waiting' || !message.isDue) return null;
  const target = await findTarget(client, ref.workspaceId, message.channel);
  if (target === null) return null;
  if ((await countAttempts(client, ref.workspaceId)) >= channelBounds.attemptsAtOnce) {
    await postpone(client, ref, crowdedSeconds, null);
    return null;
  }
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
  if (result.kind === 'sent') {
    await endMessage(client, ref, 'sent', null);
    return deps.ended('sent');
  }
  const { problem, isFinal, askedMs } = result;
  const delay = isFinal ? null : nextDelay(attempts, askedMs, deps.chance());
  if (delay === null) await endMessage(client, ref, 'failed', problem);
  else await postpone(client, ref, delay, problem);
  deps.ended(delay === null ? 'failed' : 'retried');
}
