// Serves the webhook over TLS: `POST /inject`.
import type { IncomingMessage } from 'node:http';
import { AppError, codes } from '@tollgate/proto/contract';
import {
  createBodyBudget,
  type HttpsServer,
  isJson,
  readBody,
  type Reply,
  type BodyBudget,
  standardBounds,
  startHttpsServer,
} from '../certificates/https-server.ts';
import type { Pair } from '../certificates/x509/certificate.ts';
import { type Answer, answerReview, type Ground, malformed } from './admission.ts';

/**
 * The maximum size of a review, which may contain two objects. etcd accepts no object that is larger than half of this
 * size.
 */
const bodyBytesMax = 8 * 1024 * 1024;
const bounds = { ...standardBounds, idleMs: 75_000 };
/**
 * Any client that reaches the port may send a body. Together, the bodies must not exhaust the memory of the control
 * plane.
 */
const bodiesBytesMax = 64 * 1024 * 1024;

export interface ReviewSettings extends Ground {
  /** Returns the current authorities with which sidecars check the control plane; null: the settings contain them. */
  readonly authorities?: (() => Promise<string>) | null;
}

interface WebhookDeps extends ReviewSettings {
  readonly answered: (result: Answer['result']) => void;
  readonly failed: (error: unknown) => void;
  readonly warn: (fields: object, message: string) => void;
}

export function startServer(deps: WebhookDeps, listen: { readonly host: string; readonly port: number }, pair: Pair): Promise<HttpsServer> {
  const reply = (answer: Answer): Reply => {
    deps.answered(answer.result);
    return answer;
  };
  const budget = createBodyBudget(bodiesBytesMax);
  const answered = (request: IncomingMessage): Promise<Reply> =>
    answer(request, deps, budget).then(reply, (error: unknown) => {
      const { code, publicMessage } = AppError.from(error);
      const { http: status } = codes[code];
      if (status >= 500) deps.failed(error);
      return reply(malformed(status, publicMessage));
    });
  return startHttpsServer(answered, { ...listen, bounds, warn: deps.warn }, pair);
}

async function answer(request: IncomingMessage, reviewing: ReviewSettings, budget: BodyBudget): Promise<Answer> {
  const [path] = (request.url ?? '').split('?');
  if (path !== '/inject') return malformed(404, 'the only path here is /inject');
  if (request.method !== 'POST') return malformed(405, 'must be POST');
  if (!isJson(request)) return malformed(415, 'the content type must be application/json');
  const text = await readBody(request, bodyBytesMax, budget);
  if (text === null) return malformed(413, `the body must be at most ${bodyBytesMax} bytes`);
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch {
    return malformed(400, 'the body is not JSON');
  }
  return answerReview(review, await groundOf(reviewing));
}

/** Returns the settings with the current authorities, because authorities change while this process runs. */
async function groundOf({ settings, ownNamespace, authorities = null }: ReviewSettings): Promise<Ground> {
  if (authorities === null || settings.enrol === null || settings.ca !== null) return { settings, ownNamespace };
  return { settings: { ...settings, ca: await authorities() }, ownNamespace };
}
