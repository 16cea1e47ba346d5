// A receiver of webhooks on loopback, which answers as a test says, and a verifier that shares no code with the sender.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer: a status with headers. Null: none is given. A promise: the sender waits for it. */
type Reply = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | null;

export async function startReceiver() {
  const deliveries: Delivery[] = [];
  const taken: Delivery[] = [];
  let wake: (() => void) | null = null;
  const receiver = {
    origin: '',
    /** All that arrived. */
    deliveries,
    /** Given to the next deliveries, one each. After them 204. */
    replies: [] as (Reply | Promise<Reply>)[],
    /** Resolves to the next delivery that was not returned yet. */
    next: async (): Promise<Delivery> => {
      for (;;) {
        const delivery = deliveries[taken.length];
        if (delivery !== undefined) {
          taken.push(delivery);
          return delivery;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    /** Ends all connections, those without an answer too. */
    dropAll: (): void => server.closeAllConnections(),
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    const answer = async (): Promise<void> => {
      const reply = receiver.replies.length === 0 ? { status: 204 } : ((await receiver.replies.shift()) ?? null);
      if (reply !== null) response.writeHead(reply.status, reply.headers).end();
    };
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      void answer();
      wake?.();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return receiver;
}

export const idOf = ({ headers }: Delivery): string => String(headers['webhook-id']);

export const dataOf = ({ body }: Delivery) =>
  JSON.parse(body) as { readonly type: string; readonly data: Readonly<Record<string, unknown>> };

/** Whether some signature is that of the secret, as the specification of Standard Webhooks says. */
export function isSignedWith(secret: string, { headers, body }: Delivery): boolean {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signed = createHmac('sha256', key).update(`${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`);
  const wanted = `v1,${signed.digest('base64')}`;
  return String(headers['webhook-signature']).split(' ').includes(wanted);
}
