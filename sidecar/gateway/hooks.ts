// The hook endpoint: `POST /govern/tool-use` and `/govern/tool-output`, with or without the workspace in the path.
// Verdicts are 200; 400 carries a decision too, so that a client which looks at nothing else still denies; 401 and 403
// speak of the key. Entries of one event-loop turn are written together.
import { type DenyCode, type Finding, hasScope, hashKey, parseKey, reasons } from '@tollgate/proto/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Index } from '../decide/build-index.ts';
import type { Identity } from '../decide/call.ts';
import type { Sidecar } from '../sidecar.ts';
import { publicError } from './errors.ts';
import { type Delivery, deliver, unannounced } from './deliver.ts';
import { judge } from './govern.ts';
import { type HookRequest, parseHookOutputRequest, parseHookRequest } from './hook-request.ts';
import type { DecisionMetrics } from './metrics.ts';
import { recordedInTurn } from './recorded.ts';
import { addPending, createSessions, type Sessions, takePending } from './sessions.ts';
import type { Denial, Verdict } from './verdict.ts';

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What is wrong with a key. */
interface BadKey {
  readonly status: 401 | 403;
  readonly code: DenyCode;
  readonly error: string;
}

interface Params {
  readonly workspace?: string;
}

/** What is known of a request once its key is known to be good. */
interface Authenticated {
  readonly index: Index;
  readonly identity: Identity;
}

export function registerHooks(app: FastifyInstance, sidecar: Sidecar, metrics: DecisionMetrics): void {
  const sessions = createSessions(sidecar);
  const route = (
    paths: readonly string[],
    handle: (asked: Asked) => Promise<Answer>,
    denied: (code: DenyCode, words: string) => object,
  ): void => {
    const answerRefusal = (reply: FastifyReply, status: number, code: DenyCode, error: string): FastifyReply =>
      send(reply, { status, body: { error, ...denied(code, error) } });
    for (const url of paths) {
      const known = new WeakMap<FastifyRequest, Authenticated>();
      app.route<{ Params: Params }>({
        method: 'POST',
        url,
        // Before a byte of the body is read: who may not ask is told nothing else.
        onRequest: async (request, reply) => {
          const index = sidecar.cell.current;
          if (index === null) return answerRefusal(reply, 503, 'snapshot_missing', 'no policy has been received yet');
          const checked = authenticate(index, sidecar.govern.clock.wall(), request.headers.authorization, request.params.workspace);
          if ('status' in checked) {
            metrics.unauthenticated();
            return answerRefusal(reply, checked.status, checked.code, checked.error);
          }
          known.set(request, { index, identity: checked.identity });
        },
        errorHandler: (error: FastifyError, request, reply) => {
          const { status, message } = publicError(error);
          if (status >= 500) request.log.error({ err: error }, 'a request failed');
          // A client that reads nothing but the decision must read a refusal.
          void answerRefusal(reply, status, status >= 500 ? 'internal_error' : 'call_malformed', message);
        },
        handler: async (request, reply) => {
          const authenticated = known.get(request);
          if (authenticated === undefined) throw new Error('a hook was reached without a key');
          return send(reply, await handle({ request, metrics, ...authenticated }));
        },
      });
    }
  };
  route(
    ['/govern/tool-use', '/:workspace/govern/tool-use'],
    (asked) => toolUse(sidecar, sessions, asked),
    (code, words) => ({ decision: 'deny', reason: `${code}: ${words}`, kind: reasons[code] }),
  );
  route(
    ['/govern/tool-output', '/:workspace/govern/tool-output'],
    (asked) => toolOutput(sidecar, sessions, asked),
    (code, words) => ({ action: 'block', reason: `${code}: ${words}` }),
  );
}

const send = (reply: FastifyReply, { status, body }: Answer): FastifyReply => reply.code(status).send(body);

/** The identity behind a key; or the 401 or 403 that speaks of it. */
function authenticate(
  index: Index,
  now: number,
  header: string | undefined,
  workspace: string | undefined,
): { readonly identity: Identity } | BadKey {
  const text = /^(?:Bearer +)?(gsk_\S+)$/i.exec(header ?? '')?.[1];
  const form = text === undefined ? null : parseKey(text);
  if (text === undefined || form === null)
    return { status: 401, code: 'identity_unknown', error: 'a workspace key is required: Authorization: Bearer gsk_<workspace>_<random>' };
  const key = index.keysByHash.get(hashKey(text));
  if (key === undefined || (key.expiresAt !== null && now >= key.expiresAt))
    return { status: 401, code: 'key_revoked', error: 'the key is unknown, revoked or expired' };
  if (workspace !== undefined && workspace !== form.workspace)
    return { status: 403, code: 'key_scope', error: 'the key is of another workspace than the path names' };
  if (!hasScope(key.scopes, 'govern')) return { status: 403, code: 'key_scope', error: 'the key lacks the scope "govern"' };
  return { identity: { sub: key.uid ?? `apikey:${key.id}`, keyId: key.id } };
}

interface Asked extends Authenticated {
  readonly request: FastifyRequest;
  readonly metrics: DecisionMetrics;
}

const clientHeader = ({ headers }: FastifyRequest): string | undefined => {
  const value = headers['x-gs-client'];
  return typeof value === 'string' ? value : undefined;
};

/** The key's own, or the user it names. */
const actingIdentity = (identity: Identity, { impersonate }: HookRequest): Identity =>
  impersonate === null ? identity : { ...identity, sub: impersonate };

async function toolUse(sidecar: Sidecar, sessions: Sessions, { request, index, identity, metrics }: Asked): Promise<Answer> {
  const startedAt = sidecar.govern.clock.now();
  const hook = parseHookRequest(request.body, clientHeader(request));
  const session = sessions.find(index, actingIdentity(identity, hook), hook);
  const verdict = await recordedInTurn(sidecar, judge(sidecar.govern, session.run, hook, hook.acceptsModifiedInput));
  metrics.decided(verdict.decision, sidecar.govern.clock.now() - startedAt);
  if (verdict.allowed) addPending(session, hook, verdict);
  return { status: 200, body: verdictBody(verdict) };
}

function verdictBody(verdict: Verdict): Answer['body'] {
  const { decision, findings, requestId } = verdict;
  if (!verdict.allowed) return denialBody(verdict);
  const changed = decision.transform === 'redact' && findings.length > 0;
  return {
    decision: 'allow',
    reason: decision.reason,
    request_id: requestId,
    ...(changed ? { modified_input: verdict.input } : {}),
    ...findingsBody(findings),
  };
}

const denialBody = ({ reason, kind, retryAfterMs, requestId }: Denial): Answer['body'] => ({
  decision: 'deny',
  reason,
  kind,
  ...(retryAfterMs === null ? {} : { retryAfterMs: Math.ceil(retryAfterMs) }),
  request_id: requestId,
});

const findingsBody = (findings: readonly Finding[]): object =>
  findings.length === 0
    ? {}
    : { findings: { pii: { types: findings.map(({ kind }) => kind), count: findings.reduce((sum, { count }) => sum + count, 0) } } };

async function toolOutput(sidecar: Sidecar, sessions: Sessions, { request, index, identity }: Asked): Promise<Answer> {
  const hook = parseHookOutputRequest(request.body, clientHeader(request));
  const session = sessions.find(index, actingIdentity(identity, hook), hook);
  const pending = takePending(session, hook);
  const call = pending ?? unannounced(sidecar.govern, session.run, hook);
  const durationMs = pending === null ? 0 : sidecar.govern.clock.now() - pending.decidedAt;
  const delivery = await recordedInTurn(
    sidecar,
    deliver(sidecar.govern, session.run, call, { output: hook.output, isError: hook.isError, durationMs }),
  );
  return { status: 200, body: deliveryBody(delivery) };
}

const deliveryBody = ({ action, output, findings, decision }: Delivery): Answer['body'] => ({
  action,
  ...(action === 'redact' ? { modified_output: output } : {}),
  ...(decision === null ? {} : { reason: decision.reason }),
  ...findingsBody(findings),
});
