// Sends the few requests of a control plane to the Kubernetes API, with the service account of its pod. The token is
// read for each request, and the authorities of the API server for each connection, because the kubelet replaces both.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Agent, buildConnector, type Dispatcher, request } from 'undici';

export interface Kubernetes {
  /** `path` begins with `/api` or `/apis`. `body` is sent as JSON. Throws when there is no answer. */
  readonly ask: (method: 'GET' | 'POST' | 'PUT' | 'PATCH', path: string, body?: unknown) => Promise<KubernetesAnswer>;
  readonly close: () => Promise<void>;
}

interface KubernetesAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface Account {
  readonly url: string;
  readonly tokenFile: string;
  readonly caFile: string;
  readonly namespace: string;
}

type Env = Readonly<Record<string, string | undefined>>;

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Returns the service account of the pod in which this process runs, or why it has no service account. */
export async function accountOfPod(env: Env, folder = accountFolder): Promise<Account | { readonly problem: string }> {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  const [tokenFile, caFile, namespaceFile] = ['token', 'ca.crt', 'namespace'].map((name) => join(folder, name));
  if (host === undefined || tokenFile === undefined || caFile === undefined || namespaceFile === undefined || !existsSync(tokenFile))
    return { problem: 'this process is not in a Kubernetes pod with a service account' };
  const namespace = (await readFile(namespaceFile, 'utf8')).trim();
  return { url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`, tokenFile, caFile, namespace };
}

const answerMs = 10_000;
const answerBytesMax = 4 * 1024 * 1024;

export function createKubernetes({ url, tokenFile, caFile }: Account): Kubernetes {
  const dispatcher = new Agent({
    connect: checkedBy(caFile),
    headersTimeout: answerMs,
    bodyTimeout: answerMs,
    maxResponseSize: answerBytesMax,
  });
  return {
    ask: async (method, path, body) => {
      const token = (await readFile(tokenFile, 'utf8')).trim();
      const type = method === 'PATCH' ? 'application/json-patch+json' : 'application/json';
      const answer = await request(`${url}${path}`, {
        method,
        dispatcher,
        headers: { authorization: `Bearer ${token}`, accept: 'application/json', 'content-type': type },
        body: body === undefined ? null : JSON.stringify(body),
      });
      return { status: answer.statusCode, body: parse(await answer.body.text()) };
    },
    close: () => destroyed(dispatcher),
  };
}

function checkedBy(caFile: string): buildConnector.connector {
  const connect = async (...[options, callback]: Parameters<buildConnector.connector>): Promise<void> => {
    try {
      const ca = existsSync(caFile) ? { ca: await readFile(caFile, 'utf8') } : {};
      buildConnector({ ...ca, timeout: answerMs })(options, callback);
    } catch (error) {
      callback(error instanceof Error ? error : new Error(String(error)), null);
    }
  };
  return (options, callback) => void connect(options, callback);
}

const destroyed = (dispatcher: Dispatcher): Promise<void> => dispatcher.destroy();

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
