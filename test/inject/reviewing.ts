// An API server that calls a webhook: over TLS, by the name of its Service, checked against the bundle of the
// configuration.
import { Agent, request } from 'node:https';

export interface ReviewAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface Asking {
  readonly port: number;
  readonly ca: string;
  readonly agent?: Agent;
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const serviceName = 'tollgate-injector.tollgate.svc';

export function ask(
  body: string | Buffer,
  { port, ca, agent, method = 'POST', path = '/inject', headers = {} }: Asking,
): Promise<ReviewAnswer> {
  return new Promise((done, fail) => {
    const sent = request(
      {
        host: '127.0.0.1',
        servername: serviceName,
        port,
        ca,
        method,
        path,
        agent: agent ?? new Agent({ keepAlive: false }),
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('error', fail);
        response.on('end', () => done({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown> }));
      },
    );
    sent.on('error', fail);
    sent.end(body);
  });
}

export const reviewOf = (object: unknown, more: object = {}): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      namespace: 'agents',
      operation: 'CREATE',
      object,
      dryRun: false,
      ...more,
    },
  });
