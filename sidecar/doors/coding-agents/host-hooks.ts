// `POST /hooks/<host>` for coding agents (`/govern/…` is in ../hooks): answers the events before and after a call in
// each host's format. Most hosts run the call if a hook fails. Therefore every failure (a bad key, a missing policy, an
// unreadable body, a bug) is answered with 200 and a refusal that the host respects. A call that is not decided before
// the deadline of the hook is denied and does not count.
import { bounds, type DenyCode } from '@tollgate/proto/contract';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { DisconnectSignal } from '../../base/disconnect-signal.ts';
import { answerUnread, isTooLarge } from '../entrance/answer-unread.ts';
import { callerGone } from '../entrance/caller-gone.ts';
import { readCallerHeaders } from '../entrance/caller-headers.ts';
import { type Entrance, type LetIn, shownBy } from '../entrance/entrance.ts';
import { publicError } from '../errors.ts';
import { parseStrict, parseStrictText } from '../../engine/json/strict-json.ts';
import type { EntranceRefusal } from '../entrance/key.ts';
import { answerAfter, answerBefore } from './answer.ts';
import { type Answered, answerHeader, type Host, type HostEvent, hostNamed, refuseEvent, unreadText } from '@tollgate/proto/hosts';

/**
 * The time in which a hook must be answered. It is shorter than the time that `tollgate hook` waits. That time is
 * shorter than the timeout in the hosts' settings.
 */
const answerBudgetMs = bounds.hookMs - 500;

interface Params {
  readonly host: string;
  readonly workspace?: string;
}

interface Door extends Entrance {
  readonly budgetMs: number;
}

export function registerHostHooks(app: FastifyInstance, entrance: Entrance, budgetMs = answerBudgetMs): void {
  const door: Door = { ...entrance, budgetMs };
  const known = new WeakMap<FastifyRequest, { readonly entered: LetIn | EntranceRefusal; readonly until: number }>();
  const { clock } = door.sidecar.govern;
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // Accepts any content type, because hosts send different ones. A body that is not JSON is refused when it is
    // parsed.
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: bounds.bodyBytes }, (_request, body, done) => done(null, body));
    for (const url of ['/hooks/:host', '/:workspace/hooks/:host'])
      scope.route<{ Params: Params }>({
        method: 'POST',
        url,
        config: { answerCrowded: (request, reply, crowded) => refuseCrowded(door, request, reply, { crowded, known: known.get(request) }) },
        onRequest: async (request, reply) => {
          const host = hostNamed(request.params.host);
          if (host === null) return reply.code(404).send({ error: unknownHost(request.params.host) });
          const until = clock.now() + budgetMs + installedWait(request);
          const entered = door.enter(shownBy(request));
          known.set(request, { entered, until });
          if ('status' in entered) refuseInTime(door, host, entered, reply);
          return undefined;
        },
        errorHandler: (error: FastifyError, request, reply) => {
          const { status, message } = publicError(error);
          if (status >= 500) request.log.error({ err: error }, 'a hook request of a host failed with a server error');
          const host = hostNamed(hostIn(request.params));
          if (host === null) void reply.code(status).send({ error: message });
          else if (isTooLarge(error)) answerTooLarge(host, request, reply);
          else void send(reply, unreadRefusal(host, status >= 500 ? 'internal_error' : 'call_malformed', message));
        },
        handler: async (request, reply) => {
          const host = hostNamed(request.params.host);
          const asked = known.get(request);
          if (host === null || asked === undefined)
            throw new Error(
              'the onRequest hook must check the host and the key before the handler runs, but nothing is stored for this request',
            );
          return send(reply, await answer(door, host, { request, reply, ...asked }));
        },
      });
  });
}

const unknownHost = (name: string): string => `there is no host ${JSON.stringify(name.slice(0, 40))}`;

/** Returns the refusal for a body that was not read. The kind of event is unknown, because it is in the body. */
const unreadRefusal = (host: Host, code: DenyCode, words: string): Answered => refusal(host, unreadText('', words), code, words);

interface CrowdedRefusal {
  readonly crowded: EntranceRefusal;
  /** Undefined: the key was not checked yet. */
  readonly known: { readonly entered: LetIn | EntranceRefusal } | undefined;
}

/** Refuses a request because there is no memory for its body. */
function refuseCrowded(door: Door, request: FastifyRequest, reply: FastifyReply, { crowded, known }: CrowdedRefusal): void {
  const name = hostIn(request.params);
  const host = hostNamed(name);
  if (host === null) return void reply.code(404).send({ error: unknownHost(name) });
  const entered = known?.entered ?? door.enter(shownBy(request));
  if (!('status' in entered)) door.crowded(entered);
  const { code, error } = 'status' in entered ? entered : crowded;
  void send(reply, unreadRefusal(host, code, error));
}

function answerTooLarge(host: Host, request: FastifyRequest, reply: FastifyReply): void {
  const { kind, text } = unreadRefusal(host, 'input_too_large', `the body must be at most ${bounds.bodyBytes} bytes`);
  answerUnread(request, reply.header(answerHeader, kind), { status: 200, text });
}

/** Returns the host in the path. It also works for a request that did not reach its handler. */
const hostIn = (params: unknown): string =>
  typeof params === 'object' && params !== null && 'host' in params && typeof params.host === 'string' ? params.host : '';

const send = (reply: FastifyReply, { kind, text }: Answered): FastifyReply =>
  reply.code(200).header(answerHeader, kind).type('application/json; charset=utf-8').send(text);

/**
 * Refuses a caller without access. The format of the refusal depends on the body. Therefore the code waits for the
 * body, but at most for the time budget of a decision.
 */
function refuseInTime({ budgetMs }: Door, host: Host, { code, error }: EntranceRefusal, reply: FastifyReply): void {
  const timer = setTimeout(() => {
    if (!reply.sent) void send(reply.header('connection', 'close'), unreadRefusal(host, code, error));
  }, budgetMs);
  reply.raw.once('close', () => clearTimeout(timer));
}

interface HostHookState {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly entered: LetIn | EntranceRefusal;
  readonly until: number;
}

async function answer(door: Door, host: Host, { request, reply, entered, until }: HostHookState): Promise<Answered> {
  const event = eventOf(host, request);
  if ('status' in entered) {
    request.log.warn({ host: host.name, code: entered.code }, 'a hook request of a host was refused');
    return refusal(host, event, entered.code, entered.error);
  }
  if (event.phase === 'unreadable') {
    request.log.warn({ host: host.name, problem: event.problem }, 'a hook request of a host could not be read');
    return refusal(host, event, 'call_malformed', `the hook's input ${event.problem}`);
  }
  const waitMs = waitHeader(request);
  if (typeof waitMs !== 'number') {
    request.log.warn({ host: host.name, problem: waitMs.problem }, 'a hook request of a host could not be read');
    return refusal(host, event, 'call_malformed', waitMs.problem);
  }
  const agent = agentHeader(request);
  if (typeof agent !== 'string') {
    request.log.warn({ host: host.name, problem: agent.problem }, 'a hook request of a host could not be read');
    return refusal(host, event, 'call_malformed', agent.problem);
  }
  return decide(door, { host, event, ...entered, request, agent, until, waiter: callerGone(request, reply), waitMs });
}

interface HostHookCall extends LetIn {
  readonly host: Host;
  readonly event: Exclude<HostEvent, { readonly phase: 'unreadable' }>;
  readonly request: FastifyRequest;
  readonly agent: string;
  readonly until: number;
  readonly waiter: DisconnectSignal;
  readonly waitMs: number;
}

async function decide(door: Door, { host, event, identity, request, agent, ...waiting }: HostHookCall): Promise<Answered> {
  const caller = { host, identity, tier: tierHeader(request), agent, headers: request.headers, ...waiting };
  switch (event.phase) {
    case 'before':
      return answerBefore(door, { ...caller, event });
    case 'after':
      return answerAfter(door, { ...caller, event, log: request.log });
    case 'other':
      return { kind: 'none', text: host.neutral };
  }
}

/** Returns the tier in the header that `tollgate hook` sends in CI. Null: the header is missing. */
const tierHeader = ({ headers }: FastifyRequest): 'background' | null =>
  headers['x-tollgate-tier'] === 'background' ? 'background' : null;

/** How long a call is held for a person without the header: less than any installed hook waits. */
const standardWaitMs = 2_000;
const longestWaitMs = 3_600_000;

/**
 * Returns how long the hook may wait for a person, in ms. `tollgate hooks install` writes it into the hook: the host's own
 * limit less 5 s. `problem`: the header is invalid.
 */
function waitHeader({ headers }: FastifyRequest): number | { readonly problem: string } {
  const said = headers['x-tollgate-wait-ms'];
  if (said === undefined) return standardWaitMs;
  const waitMs = typeof said === 'string' && /^\d{1,7}$/.test(said) ? Number(said) : Number.NaN;
  return waitMs <= longestWaitMs ? waitMs : { problem: `X-Tollgate-Wait-Ms must be a whole number from 0 to ${longestWaitMs}` };
}

/** Returns by how much the header lengthens the time in which the hook must be answered. */
function installedWait(request: FastifyRequest): number {
  const waitMs = request.headers['x-tollgate-wait-ms'] === undefined ? 0 : waitHeader(request);
  return typeof waitMs === 'number' ? waitMs : 0;
}

/**
 * Returns the host's version at the time when its hooks were installed. `tollgate hook --host-version` sends it in this
 * header.
 */
const versionHeader = ({ headers }: FastifyRequest): string | null => {
  const version = headers['x-tollgate-host-version'];
  return typeof version === 'string' && version.length <= versionLengthMax ? version : null;
};
const versionLengthMax = 40;

/**
 * Returns the agent's name in the header that `tollgate hook --agent` sends. The hooks were installed with this name.
 * Empty: there is none. `problem`: the name is invalid.
 */
function agentHeader({ raw: { rawHeaders } }: FastifyRequest): string | { readonly problem: string } {
  // Raw headers are used because Node joins headers that occur several times.
  const said = rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === 'x-tollgate-agent');
  const caller = readCallerHeaders({ 'x-tollgate-agent': said.length === 0 ? undefined : said });
  return 'problem' in caller ? caller : caller.agent;
}

function eventOf(host: Host, request: FastifyRequest): HostEvent {
  const { body } = request;
  const version = versionHeader(request);
  if (!(body instanceof Uint8Array)) return unreadText('', 'is empty');
  // A number that a double would round is no reason to refuse the event. But the input or output is not replaced, because
  // the replacement would contain a string in place of the number.
  const parsed = parseStrict(body, { keepsInexact: true });
  if ('problem' in parsed) return unreadText(new TextDecoder().decode(body), parsed.problem);
  const event = host.read(parsed.value, parseInner, version);
  return parsed.hasInexactNumbers === true ? asItIs(event) : event;
}

/** Parses JSON within a text. Returns the text unchanged if it is not JSON, or if its JSON is ambiguous. */
function parseInner(text: string): unknown {
  const parsed = parseStrictText(text);
  return 'value' in parsed ? parsed.value : text;
}

function asItIs(event: HostEvent): HostEvent {
  if (event.phase === 'before') return { ...event, replacesInput: false };
  return event.phase === 'after' ? { ...event, replacesOutput: false } : event;
}

function refusal(host: Host, event: HostEvent, code: DenyCode, words: string): Answered {
  return { kind: refusalKind(event), text: refuseEvent(host, event, `${code}: ${words}`) };
}

function refusalKind(event: HostEvent): Answered['kind'] {
  switch (event.phase) {
    case 'before':
      return 'deny';
    case 'after':
      return event.heeded ? 'block' : 'pass';
    case 'unreadable':
      return event.after ? 'block' : 'deny';
    case 'other':
      return 'none';
  }
}
