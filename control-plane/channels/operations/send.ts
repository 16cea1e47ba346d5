// Sends one message to a channel, signed as Standard Webhooks say. The address must be public at the time of the connection,
// as for tool servers. The answer is not read: only its status counts.
import { createGuardedFetch } from '@tollgate/sidecar/upstream';
import type { AddressRules } from '@tollgate/sidecar/upstream';
import { retryAfterMs } from '../../base/retry-after.ts';
import { channelUrlProblem } from '../rules/channel.ts';

/** The maximum time of one attempt, connecting included. */
const sendMs = 10_000;

export interface SignedMessage {
  /** The `webhook-id`. */
  readonly id: string;
  readonly body: string;
  readonly url: string;
  /** Secrets as `whsec_…`. Each of them signs. At least one. */
  readonly secrets: readonly string[];
  /** The time of the attempt, by which receivers refuse late deliveries. */
  readonly at: Date;
}

export type SendResult =
  | { readonly kind: 'sent' }
  /** `isFinal`: another attempt cannot succeed. `askedMs`: the receiver asked for this delay. */
  | { readonly kind: 'failed'; readonly problem: string; readonly isFinal: boolean; readonly askedMs: number | null };

const failed = (problem: string, isFinal = false, askedMs: number | null = null): SendResult => ({
  kind: 'failed',
  problem,
  isFinal,
  askedMs,
});

/** Makes one attempt. Never rejects. The problem of a failure quotes nothing of the answer except its status. */
export async function sendMessage(rules: AddressRules, message: SignedMessage, stop: AbortSignal): Promise<SendResult> {
  const { url, body } = message;
  // The operator may have changed which addresses are allowed.
  const problem = channelUrlProblem(url, rules.allowPrivate);
  if (problem !== null) return failed(`the url ${problem}`);
  const late = AbortSignal.timeout(sendMs);
  const guarded = createGuardedFetch(new URL(url).origin, rules, 'each');
  try {
    const headers = await headersOf(message);
    const response = await guarded.fetch(url, { method: 'POST', headers, body, signal: AbortSignal.any([stop, late]) });
    await response.body?.cancel();
    if (response.ok) return { kind: 'sent' };
    // The receiver wants no more messages.
    const isGone = response.status === 410;
    return failed(
      `it answered with status ${response.status}`,
      isGone,
      retryAfterMs(response.headers.get('retry-after'), message.at.getTime()),
    );
  } catch {
    const words = guarded.trouble()?.words;
    if (words !== undefined) return failed(`it ${words}`);
    if (late.aborted) return failed(`it did not answer within ${sendMs} ms`);
    return failed(stop.aborted ? 'this control plane stopped during the attempt' : 'it could not be reached');
  } finally {
    await guarded.close().catch(() => undefined);
  }
}

async function headersOf({ id, body, secrets, at }: SignedMessage): Promise<Record<string, string>> {
  const { Webhook } = await import('standardwebhooks');
  return {
    'content-type': 'application/json',
    'user-agent': 'tollgate',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
  };
}
