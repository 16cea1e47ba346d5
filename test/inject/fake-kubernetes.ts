// The parts of a Kubernetes API that a control plane needs: the Secrets of one namespace, one
// MutatingWebhookConfiguration, reviews of tokens. Versions are checked as the real API does: a write based on an
// outdated version is rejected.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from '../../control-plane/injector/kubernetes-api.ts';
import { applyPatch } from './apply-patch.ts';

type Row = Record<string, unknown>;

const token = 'token-of-the-service-account';
const configurations = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';

export interface FakeKubernetes {
  readonly account: Account;
  readonly secrets: Map<string, Row>;
  /** The bundle by which an API server would check the webhook now. */
  readonly bundle: (webhook?: number) => string;
  /** Status and path of requests that change something. */
  readonly changes: string[];
  /** The next `times` requests are answered with this status instead. */
  readonly refuse: { status: number; times: number };
  /** Called before a write is carried out. */
  beforeWrite: (() => void) | null;
  configuration: Row;
  /** Returns the status of a TokenReview for its spec. */
  review: (spec: unknown) => object;
  readonly close: () => Promise<void>;
}

export async function startFakeKubernetes(name: string): Promise<FakeKubernetes> {
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'));
  const tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, `${token}\n`);
  let version = 1;
  const versioned = (object: Row): Row => ({
    ...object,
    metadata: { ...(object['metadata'] as Row), resourceVersion: String((version += 1)) },
  });
  const secrets = new Map<string, Row>();
  const webhook = { clientConfig: { service: { name, namespace: 'tollgate', path: '/inject' } } };
  const fake: FakeKubernetes = {
    account: { url: '', tokenFile, caFile: join(folder, 'none'), namespace: 'tollgate' },
    secrets,
    bundle: (at = 0) => {
      const webhooks = fake.configuration['webhooks'] as readonly { readonly clientConfig: { readonly caBundle?: string } }[];
      return Buffer.from(webhooks[at]?.clientConfig.caBundle ?? '', 'base64').toString('utf8');
    },
    changes: [],
    refuse: { status: 500, times: 0 },
    beforeWrite: null,
    configuration: versioned({ metadata: { name }, webhooks: [webhook, structuredClone(webhook)] }),
    review: () => ({ authenticated: false }),
    close: async () => {
      await new Promise((done) => server.close(done));
      rmSync(folder, { recursive: true });
    },
  };

  const answer = (method: string, path: string, body: unknown): readonly [number, unknown] => {
    if (fake.refuse.times > 0) {
      fake.refuse.times -= 1;
      return [fake.refuse.status, {}];
    }
    if (path === '/apis/authentication.k8s.io/v1/tokenreviews')
      return [201, { ...(body as Row), status: fake.review((body as Row)['spec']) }];
    if (method !== 'GET') fake.beforeWrite?.();
    if (path === `${configurations}/${name}`) {
      if (method === 'GET') return [200, fake.configuration];
      try {
        fake.configuration = versioned(testedPatch(fake.configuration, body as readonly Row[]) as Row);
        return [200, fake.configuration];
      } catch {
        return [422, {}];
      }
    }
    const [, secretName] = /^\/api\/v1\/namespaces\/tollgate\/secrets(?:\/(.+))?$/.exec(path) ?? [];
    const named = secretName ?? String(((body as Row | undefined)?.['metadata'] as Row | undefined)?.['name']);
    const there = secrets.get(named);
    if (method === 'GET') return there === undefined ? [404, {}] : [200, there];
    if (method === 'POST' && there !== undefined) return [409, {}];
    const wanted = ((body as Row)['metadata'] as Row)['resourceVersion'];
    if (method === 'PUT' && wanted !== (there?.['metadata'] as Row | undefined)?.['resourceVersion']) return [409, {}];
    secrets.set(named, versioned(body as Row));
    return [method === 'POST' ? 201 : 200, secrets.get(named)];
  };

  const server = createServer((request, response) => {
    void read(request).then((text) => {
      const { method = '', url = '', headers } = request;
      const isKnown = headers.authorization === `Bearer ${token}`;
      const [status, body] = isKnown ? answer(method, url, text === '' ? undefined : JSON.parse(text)) : [401, {}];
      if (method !== 'GET') fake.changes.push(`${status} ${method} ${url}`);
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return Object.assign(fake, { account: { ...fake.account, url: `http://127.0.0.1:${port}` } });
}

function testedPatch(before: unknown, patch: readonly Row[]): unknown {
  const isTrue = ({ op, path, value }: Row): boolean =>
    op !== 'test' || (path === '/metadata/resourceVersion' && ((before as Row)['metadata'] as Row)['resourceVersion'] === value);
  if (!patch.every(isTrue)) throw new Error('a test fails');
  return applyPatch(
    before,
    patch.filter(({ op }) => op !== 'test'),
  );
}

async function read(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return text;
}
