// A control plane with enrolment only, over TLS on loopback: it answers what a test says, and records its requests.
import { createPublicKey } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { type Authority, issue } from './authorities.ts';

export interface EnrolmentRequest {
  readonly authorization: string;
  readonly url: string;
  readonly publicKey: string;
}

interface Reply {
  readonly status: number;
  readonly body: unknown;
}

export interface EnrolmentServer {
  readonly address: string;
  readonly port: number;
  readonly asked: readonly EnrolmentRequest[];
  /** The answer to the next requests; null: that of a correct control plane. */
  reply: ((asked: EnrolmentRequest) => Reply) | null;
  /** Signs issued certificates, and is part of the bundle. */
  authority: Authority;
  /** The bundle; by default the authority alone. */
  bundle: string | null;
  until: Date;
  stop(): Promise<void>;
}

interface Options {
  readonly authority: Authority;
  readonly port?: number;
  /** Signs the server's own certificate; by default the authority. */
  readonly servedBy?: Authority;
}

export async function startEnrolment({ authority, port = 0, servedBy = authority }: Options): Promise<EnrolmentServer> {
  const own = issue(servedBy, { names: ['localhost', '127.0.0.1'] });
  const asked: EnrolmentRequest[] = [];
  const server = createServer({ cert: own.certificate, key: own.key }, (request, response) => {
    void askedBy(request).then((one) => {
      asked.push(one);
      const { status, body } = (enrolment.reply ?? issued)(one);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  const issued = ({ publicKey }: EnrolmentRequest): Reply => {
    const { certificate } = issue(enrolment.authority, { publicKey: createPublicKey(publicKey), until: enrolment.until });
    const authorities = enrolment.bundle ?? enrolment.authority.certificate;
    return { status: 200, body: { certificate, authorities, expiresAt: enrolment.until.toISOString() } };
  };
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : 0;
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(stop);
  const enrolment: EnrolmentServer = {
    address: `localhost:${bound}`,
    port: bound,
    asked,
    reply: null,
    authority,
    bundle: null,
    until: new Date(Date.now() + 3_600_000),
    stop,
  };
  return enrolment;
}

async function askedBy(request: IncomingMessage): Promise<EnrolmentRequest> {
  const body = (await json(request)) as { readonly publicKey: string };
  return { authorization: request.headers.authorization ?? '', url: `${request.method} ${request.url}`, publicKey: body.publicKey };
}
