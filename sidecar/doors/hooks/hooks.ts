// The hook endpoint: `POST /govern/tool-use`, `/govern/tool-output` and `/govern/cost`, with or without the workspace in
// the path. (`/hooks/<host>`, which coding agents use, is in ../coding-agents.) Clients in use make the call if the status of the
// answer is not 2xx. Therefore a request with a valid key is always answered with 200 and a decision, even if it has
// errors, and an entry about the call is written. 401 and 403 report a problem of the key, and 5xx reports an outage of Tollgate. Both
// contain a decision too. Entries of one turn of the event loop are written together.
import { bounds, NotJson } from '@tollgate/proto/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifySchema, HookHandlerDoneFunction } from 'fastify';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import type { Identity } from '../../engine/decide/call.ts';
import { deliver, unannounced } from '../../engine/govern/deliver.ts';
import { type Flaw, judge, type JudgeOptions, type ToolCall } from '../../engine/govern/govern.ts';
import type { Governing } from '../../engine/govern/governing.ts';
import { recordedForCaller, recordedInTurn } from '../../engine/govern/recorded.ts';
import type { AwaitedCall, Verdict } from '../../engine/govern/verdict.ts';
import { retryHeader } from '../denial-body.ts';
import type { EntranceRefusal } from '../entrance/key.ts';
import { answerUnread, isTooLarge } from '../entrance/answer-unread.ts';
import { callerGone } from '../entrance/caller-gone.ts';
import { type LetIn, shownBy } from '../entrance/entrance.ts';
import { recognised } from '../entrance/share-fairly.ts';
import type { Session } from '../sessions/sessions.ts';
import { traceNamedBy, traceOfCall } from '../traced-call.ts';
import { type ApprovalRouteOptions, registerApprovalRoute } from './approval-route.ts';
import {
  type Answer,
  costBody,
  deliveryBody,
  type RefusalWriter,
  deniedOutput,
  deniedUse,
  type Refusal,
  refusalAnswer,
  verdictBody,
} from './hook-answer.ts';
import { type HookBody, keepBytes, notJson, readHookBody, unreadBody } from './hook-body.ts';
import { type HookOutputRequest, type HookRequest, readHookCostRequest, readHookOutputRequest, readHookRequest } from './hook-request.ts';
import type { AdmittedCaller, Entry, HookHost } from './host.ts';

interface Params {
  readonly workspace?: string;
}

const hookNames = ['tool-use', 'tool-output', 'cost'] as const;
type HookName = (typeof hookNames)[number];

/** Returns the status and the message of an error that a caller may see. */
type PublicError = (error: FastifyError) => { readonly status: number; readonly message: string };

/**
 * `http`: refusals have the status of earlier versions, in which not every decision was answered with 200. This is
 * supported for one version.
 */
export type HookStatus = 'decision' | 'http';

export interface HookRoutes extends ApprovalRouteOptions {
  readonly publicError: PublicError;
  readonly status: HookStatus;
  /** Returns the description of a route for an API document. */
  readonly schemaOf?: (hook: HookName, inWorkspace: boolean) => FastifySchema;
}

interface Hook {
  readonly bodyLimit: number;
  readonly nodes: number;
  readonly handle: (asked: HookCall) => Promise<Answer>;
  readonly denied: RefusalWriter;
}

const hooks: Readonly<Record<HookName, Hook>> = {
  'tool-use': { bodyLimit: bounds.bodyBytes, nodes: bounds.jsonNodes, handle: toolUse, denied: deniedUse },
  'tool-output': { bodyLimit: bounds.outputBodyBytes, nodes: bounds.toolOutputNodes, handle: toolOutput, denied: deniedOutput },
  cost: { bodyLimit: bounds.bodyBytes, nodes: bounds.jsonNodes, handle: cost, denied: deniedUse },
};

const hookPath = /^\/(?:[^/?]*\/)?govern\/(?:tool-use|tool-output|cost)(?:\?|$)/;

export function registerHooks(app: FastifyInstance, host: HookHost, { schemaOf, approvalSchemaOf, ...how }: HookRoutes): void {
  registerApprovalRoute(app, host, approvalSchemaOf === undefined ? {} : { approvalSchemaOf });
  // By default Node answers a request with an unknown `Expect` header with 417. Hook requests are handled as usual
  // instead.
  app.server.on('checkExpectation', (request, response) => {
    if (hookPath.test(request.url ?? '')) app.server.emit('request', request, response);
    else response.writeHead(417).end();
  });
  for (const name of hookNames) {
    for (const inWorkspace of [false, true]) {
      void app.register(async (scope) => {
        keepBytes(scope);
        const url = `${inWorkspace ? '/:workspace' : ''}/govern/${name}`;
        const described = schemaOf === undefined ? {} : { schema: schemaOf(name, inWorkspace) };
        scope.route<{ Params: Params }>({ method: 'POST', url, ...described, ...answering(host, { ...how, hook: hooks[name] }) });
      });
    }
  }
}

interface Answering extends Pick<HookRoutes, 'publicError' | 'status'> {
  readonly hook: Hook;
}

function answering(host: HookHost, { publicError, status: statuses, hook }: Answering) {
  const asSent = (answer: Answer): Answer => (statuses === 'http' ? asFormerly(answer) : answer);
  const refuse = (reply: FastifyReply, refusal: Refusal): FastifyReply => {
    const { status, body } = asSent(refusalAnswer(refusal, hook.denied));
    return reply
      .headers(status === 200 ? {} : retryHeader(refusal.retryAfterMs))
      .code(status)
      .send(body);
  };
  const handle = async (request: FastifyRequest, reply: FastifyReply, entered: AdmittedCaller, body: HookBody): Promise<Answer> => {
    return asSent(await hook.handle({ request, reply, host, body, ...entered }));
  };
  const enter = (request: FastifyRequest, reply: FastifyReply, letIn: (entered: AdmittedCaller) => void): void => {
    if (hasEntered(request.letIn)) return letIn(request.letIn);
    const take = (entry: Entry): void => {
      if ('status' in entry) return void refuse(reply, entry);
      recognised(request, entry.identity.keyId);
      request.letIn = entry;
      letIn(entry);
    };
    const entry = host.enter(shownBy(request));
    if (entry instanceof Promise) entry.then(take, (error: unknown) => void reply.send(error));
    else take(entry);
  };
  return {
    bodyLimit: hook.bodyLimit,
    config: {
      answerCrowded: (request: FastifyRequest, reply: FastifyReply, refusal: EntranceRefusal) =>
        enter(request, reply, (entered) => {
          host.crowded(entered);
          refuse(reply, refusal);
        }),
    },
    // Runs before a byte of the body is read, so a caller without access receives only the refusal.
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => enter(request, reply, () => done()),
    errorHandler: async (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
      const { status, message } = publicError(error);
      const entered = request.letIn;
      if (status >= 500 || !hasEntered(entered)) return refuseError(request, refuse, reply, { error, status, message });
      try {
        const answer = await handle(request, reply, entered, unreadBody(flawOf(error, { status, message }, hook), status));
        return isTooLarge(error)
          ? answerUnread(request, reply, { status: answer.status, text: JSON.stringify(answer.body) })
          : reply.code(answer.status).send(answer.body);
      } catch (cause) {
        return refuseError(request, refuse, reply, { error: cause, status: 500, message: 'internal error' });
      }
    },
    handler: async (request: FastifyRequest, reply: FastifyReply) => {
      const entered = request.letIn;
      if (!hasEntered(entered))
        throw new Error('the onRequest hook must check the key before the handler runs, but no caller is stored for this request');
      const { status, body } = await handle(
        request,
        reply,
        entered,
        readHookBody(request.body, request.headers['content-type'], hook.nodes),
      );
      void reply.code(status);
      return body;
    },
  };
}

const hasEntered = (letIn: LetIn | null): letIn is AdmittedCaller => letIn !== null && 'governing' in letIn;

/** Returns the answer with the status of earlier versions. Every answer that is not 2xx has an `error` field. */
function asFormerly(answer: Answer): Answer {
  const { formerStatus: status, body } = answer;
  if (status === undefined) return answer;
  return { status, body: { error: String(body['reason']).replace(/^\w+: /, ''), ...body } };
}

function flawOf(error: FastifyError, { status, message }: Omit<HookFailure, 'error'>, { bodyLimit }: Hook): Flaw {
  if (isTooLarge(error)) return { code: 'input_too_large', words: `the body must be at most ${bodyLimit} bytes` };
  return { code: 'call_malformed', words: status === 415 ? notJson : message };
}

interface HookFailure {
  readonly error: unknown;
  readonly status: number;
  readonly message: string;
}

function refuseError(
  request: FastifyRequest,
  refuse: (reply: FastifyReply, refusal: Refusal) => FastifyReply,
  reply: FastifyReply,
  { error, status, message }: HookFailure,
): FastifyReply {
  if (status >= 500) request.log.error({ err: error }, 'a hook request failed with a server error');
  return refuse(reply, { status, code: status >= 500 ? 'internal_error' : 'call_malformed', error: message });
}

interface HookCall extends AdmittedCaller {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly host: HookHost;
  readonly body: HookBody;
}

const clientHeader = ({ headers }: FastifyRequest): string | undefined => {
  const value = headers['x-gs-client'];
  return typeof value === 'string' ? value : undefined;
};

/** Returns the identity to decide for: the key's own, or the user that the request names. */
const actingIdentity = (identity: Identity, { impersonate }: Pick<HookRequest, 'impersonate'>): Identity =>
  impersonate === null ? identity : { ...identity, sub: impersonate };

const flawIn = ({ flaw }: HookRequest): { readonly flaw?: Flaw } => (flaw === null ? {} : { flaw });

const formerStatusOf = ({ flaw }: Pick<HookRequest, 'flaw'>, { formerStatus }: HookBody): Pick<Answer, 'formerStatus'> =>
  flaw === null ? {} : { formerStatus };

async function toolUse({ request, reply, body, governing, sessions, identity, host }: HookCall): Promise<Answer> {
  const { govern } = governing;
  const startedAt = govern.clock.now();
  const hook = readHookRequest(body, clientHeader(request), identity.keyId);
  const session = sessions.find(actingIdentity(identity, hook), hook);
  // The client makes the call itself. It reports the result in another request, or never.
  const span = host.tracing?.begin(hook.tool, request.headers);
  const call = { tool: hook.tool, input: hook.input, isOwnInput: true, ...flawIn(hook), trace: traceOfCall(span, request.headers) };
  const forwards = hook.takesModifiedInput;
  const verdict =
    hook.waitMs === 0
      ? await recordedInTurn(governing, judge(govern, session.run, call, { forwards }))
      : await decideHeld(governing, session, call, { forwards, holdMs: hook.waitMs, gone: callerGone(request, reply) });
  host.decided(verdict.decision, govern.clock.now() - startedAt);
  span?.decided(verdict, session.run);
  span?.end();
  if (verdict.allowed) session.pending.add(hook, verdict);
  return { status: 200, ...formerStatusOf(hook, body), body: verdictBody(verdict) };
}

/**
 * Decides a call whose client waits for a person. A client that closes its connection before the answer does not make the
 * call.
 */
const decideHeld = (
  governing: Governing,
  { run }: Session,
  call: ToolCall,
  options: JudgeOptions & { readonly gone: DisconnectSignal },
): Promise<Verdict> => recordedForCaller(governing, judge(governing.govern, run, call, options), options.gone);

async function toolOutput({ request, body, governing, sessions, identity }: HookCall): Promise<Answer> {
  const { govern } = governing;
  const bytes = Buffer.isBuffer(request.body) ? request.body.length : 0;
  const hook = readHookOutputRequest(body, clientHeader(request), identity.keyId, bytes);
  const session = sessions.find(actingIdentity(identity, hook), hook);
  const pending = takePending(session, hook);
  const flaw = flawIn(hook);
  const { output, isError } = hook;
  const call =
    pending ??
    unannounced(govern, session.run, {
      tool: hook.tool,
      input: hook.input,
      isOwnInput: true,
      ...flaw,
      trace: traceNamedBy(request.headers),
    });
  const durationMs = pending === null ? 0 : govern.clock.now() - pending.decidedAt;
  const delivery = await recordedInTurn(governing, deliver(govern, session.run, call, { output, isError, durationMs, ...flaw }));
  return { status: 200, ...formerStatusOf(hook, body), body: deliveryBody(delivery) };
}

/** Costs are counted and not recorded: an entry is about a call. */
async function cost({ request, body, sessions, identity }: HookCall): Promise<Answer> {
  const hook = readHookCostRequest(body, clientHeader(request));
  const { action, costId: id, cents, leastCents: least, flaw } = hook;
  if (flaw !== null) return { status: 200, ...formerStatusOf(hook, body), body: deniedUse({ code: flaw.code, error: flaw.words }) };
  const by = actingIdentity(identity, hook);
  const verdict =
    action === 'reserve' ? sessions.reserveCost(by, hook, { id, cents, least }) : sessions.settleCost(by, hook, { id, cents });
  return { status: 200, body: costBody(action, verdict) };
}

/** Returns the call that the outcome belongs to. Null: no call waits for it, or its input is invalid. */
function takePending(session: Session, hook: HookOutputRequest): AwaitedCall | null {
  try {
    return session.pending.take(hook);
  } catch (error) {
    if (error instanceof NotJson) return null;
    throw error;
  }
}
