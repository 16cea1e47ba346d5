// The hook endpoint: `POST /govern/tool-use` and `/govern/tool-output`, with or without the workspace in the path.
// Verdicts are 200; 400 and 429 carry a decision too, so that a client which looks at nothing else still denies; 401 and 403
// speak of the key. Entries of one event-loop turn are written together.
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HookHandlerDoneFunction } from 'fastify';
import type { Identity } from '../../decide/call.ts';
import { deliver, unannounced } from '../../govern/deliver.ts';
import { judge } from '../../govern/govern.ts';
import { recordedInTurn } from '../../govern/recorded.ts';
import { retryHeader } from '../denial-body.ts';
import { traceNamedBy, traceOfCall } from '../traced-call.ts';
import { type Answer, deliveryBody, type Denied, deniedOutput, deniedUse, type Refusal, verdictBody } from './hook-answer.ts';
import { readStrictly } from './hook-body.ts';
import { type HookRequest, parseHookOutputRequest, parseHookRequest } from './hook-request.ts';
import type { Entered, Entry, HookHost } from './host.ts';

interface Params {
  readonly workspace?: string;
}

/** What of an error a caller may read. */
type PublicError = (error: FastifyError) => { readonly status: number; readonly message: string };

export interface HookRoutes {
  readonly publicError: PublicError;
  /** What an API document says of each route. */
  readonly schemaOf?: (hook: 'tool-use' | 'tool-output', inWorkspace: boolean) => FastifySchema;
}

export function registerHooks(app: FastifyInstance, host: HookHost, { publicError, schemaOf }: HookRoutes): void {
  const route = (hook: 'tool-use' | 'tool-output', handle: (asked: Asked) => Promise<Answer>, denied: Denied): void => {
    for (const inWorkspace of [false, true]) {
      void app.register(async (scope) => {
        readStrictly(scope);
        const url = `${inWorkspace ? '/:workspace' : ''}/govern/${hook}`;
        const described = schemaOf === undefined ? {} : { schema: schemaOf(hook, inWorkspace) };
        scope.route<{ Params: Params }>({ method: 'POST', url, ...described, ...answering(host, { publicError, handle, denied }) });
      });
    }
  };
  route('tool-use', toolUse, deniedUse);
  route('tool-output', toolOutput, deniedOutput);
}

interface Answering {
  readonly publicError: PublicError;
  readonly handle: (asked: Asked) => Promise<Answer>;
  readonly denied: Denied;
}

function answering(host: HookHost, { publicError, handle, denied }: Answering) {
  const refuse = (reply: FastifyReply, refusal: Refusal): FastifyReply =>
    send(reply.headers(retryHeader(refusal.retryAfterMs)), { status: refusal.status, body: denied(refusal) });
  const known = new WeakMap<FastifyRequest, Entered>();
  return {
    // Before a byte of the body is read: who may not ask is told nothing else.
    onRequest: (request: FastifyRequest<{ Params: Params }>, reply: FastifyReply, done: HookHandlerDoneFunction) => {
      const letIn = (entered: Entry): void => {
        if ('status' in entered) return void refuse(reply, entered);
        known.set(request, entered);
        done();
      };
      const entry = host.enter({ authorization: request.headers.authorization, workspace: request.params.workspace });
      if (entry instanceof Promise) entry.then(letIn, done);
      else letIn(entry);
    },
    errorHandler: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      const { status, message } = publicError(error);
      if (status >= 500) request.log.error({ err: error }, 'a request failed');
      refuse(reply, { status, code: status >= 500 ? 'internal_error' : 'call_malformed', error: message });
    },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const entered = known.get(request);
      if (entered === undefined) throw new Error('a hook was reached without a key');
      const { status, body } = await handle({ request, host, ...entered });
      void reply.code(status);
      return body;
    },
  };
}

const send = (reply: FastifyReply, { status, body }: Answer): FastifyReply => reply.code(status).send(body);

interface Asked extends Entered {
  readonly request: FastifyRequest;
  readonly host: HookHost;
}

const clientHeader = ({ headers }: FastifyRequest): string | undefined => {
  const value = headers['x-gs-client'];
  return typeof value === 'string' ? value : undefined;
};

/** The key's own, or the user it names. */
const actingIdentity = (identity: Identity, { impersonate }: HookRequest): Identity =>
  impersonate === null ? identity : { ...identity, sub: impersonate };

async function toolUse({ request, governing, sessions, index, identity, host }: Asked): Promise<Answer> {
  const { govern } = governing;
  const startedAt = govern.clock.now();
  const hook = parseHookRequest(request.body, clientHeader(request), identity.keyId);
  const session = sessions.find(index, actingIdentity(identity, hook), hook);
  // Whoever asks here makes the call itself: what comes of it is another request, or none.
  const span = host.tracing?.begin(hook.tool, request.headers);
  const call = { ...hook, trace: traceOfCall(span, request.headers) };
  const verdict = await recordedInTurn(governing, judge(govern, session.run, call, { forwards: hook.acceptsModifiedInput }));
  host.decided(verdict.decision, govern.clock.now() - startedAt);
  span?.decided(verdict, session.run);
  span?.end();
  if (verdict.allowed) session.pending.add(hook, verdict);
  return { status: 200, body: verdictBody(verdict) };
}

async function toolOutput({ request, governing, sessions, index, identity }: Asked): Promise<Answer> {
  const { govern } = governing;
  const hook = parseHookOutputRequest(request.body, clientHeader(request), identity.keyId);
  const session = sessions.find(index, actingIdentity(identity, hook), hook);
  const pending = session.pending.take(hook);
  const call = pending ?? unannounced(govern, session.run, { ...hook, trace: traceNamedBy(request.headers) });
  const durationMs = pending === null ? 0 : govern.clock.now() - pending.decidedAt;
  const delivery = await recordedInTurn(
    governing,
    deliver(govern, session.run, call, { output: hook.output, isError: hook.isError, durationMs }),
  );
  return { status: 200, body: deliveryBody(delivery) };
}
