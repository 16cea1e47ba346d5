// Prepares a request before a tool server receives it, depending on the kind of request (`treatmentOf`). To support a
// new kind of request, begin here.
import { type GovernedRun, heldBy } from '../../../engine/govern/run.ts';
import { offers, offersWith } from '../../../engine/govern/offers.ts';
import { askTools, ListRefused } from '../list/ask-tools.ts';
import { catalogOf } from '../list/catalog.ts';
import { type Judging, prepareCall, prepareRead, readCall } from './call.ts';
import { type Door, type DoorRequest, viewerOf } from '../door.ts';
import { memberAt, withMember, withoutMember } from '../../../upstream/wire/json-text.ts';
import { headerProblem, paramHeaderProblem } from '../../../upstream/wire/headers.ts';
import { listPending, policyName } from '../list/list.ts';
import { listenPending } from '../list/changes.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import { type Era, listedBy, treatmentOf } from '../../../upstream/wire/methods.ts';
import type { HeldRequest } from './held.ts';
import { type Pending, type PreparedRequest, plainPending } from './pending.ts';
import { passingBy, redactedAnswer, redactedParams, sideline } from './redaction.ts';
import { errorText, type RpcId, RpcRefusal, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';

interface Preparing {
  readonly era: Era;
  readonly message: ClientRequest;
  readonly run: GovernedRun;
  readonly held: HeldRequest;
}

/** Returns the request to forward, and the handling of its answer. Throws `RpcRefusal` if it must not be forwarded. */
export async function prepare(door: Door, asked: DoorRequest, preparing: Preparing): Promise<PreparedRequest> {
  const { era, message, run, held } = preparing;
  const treatment = treatmentOf(era, message.method);
  if (treatment === null) throw new RpcRefusal(era === 'modern' ? 404 : 200, errorText(message.id, rpcErrors.method, 'Method not found'));
  const mismatch = era === 'modern' ? headerProblem(message, asked.headers) : null;
  if (mismatch !== null) throw new RpcRefusal(400, errorText(message.id, rpcErrors.headers, mismatch));
  const { server } = asked;
  const passing = passingBy(run, server, message.method);
  const { sidecar, metrics, tracing } = door;
  const { govern } = sidecar;
  const requestHeaders = asked.request.headers;
  const judging: Judging = { govern, run, server, catalog: catalogOf(server), sidecar, metrics, tracing, requestHeaders, era, held };
  const plain = (pending: Pending): PreparedRequest => ({ message, declared: [], pending });
  switch (treatment) {
    case 'call':
      return prepareToolCall({ door, asked, message, judging });
    case 'read':
      return prepareRead(judging, message);
    case 'check':
      return prepareCheck(judging, message);
    case 'tools':
      return plain(listPending(viewerOf(door, asked, run), era, passing));
    case 'greeting':
      return plain(greetingPending(message.method, passing));
    case 'listen':
      return plain(listenPending(message, passing));
    case 'pass':
      return plain(plainPending(message.method, passing));
  }
}

interface ToolCalling {
  readonly door: Door;
  readonly asked: DoorRequest;
  readonly message: ClientRequest;
  readonly judging: Judging;
}

// How long, in ms, an admitted definition counts as current. So calls that arrive together need only one request for
// the list.
const pinnedAgeMs = 1_000;

async function prepareToolCall(calling: ToolCalling): Promise<PreparedRequest> {
  const { asked, message, judging } = calling;
  const { server, headers } = asked;
  const { era, govern, run, catalog } = judging;
  const { name, arguments: args } = message.params;
  const badParams = (problem: string): RpcRefusal => new RpcRefusal(200, errorText(message.id, rpcErrors.params, problem));
  if (typeof name !== 'string') throw badParams('params.name must be the name of a tool');
  if (args !== undefined && !isFields(args)) throw badParams('params.arguments must be an object');
  if ('task' in message.params) throw badParams('params.task is not supported: send the call without it');
  // Only a caller that may use the tool can cause a request for the list.
  if (offers(govern, run, policyName(server, name))) await refreshCatalog(calling, name);
  const declared = era === 'modern' ? (catalog.tools.get(name)?.headers ?? []) : [];
  const mismatch = paramHeaderProblem(declared, args, headers);
  if (mismatch !== null) throw new RpcRefusal(400, errorText(message.id, rpcErrors.headers, mismatch));
  const isSame = (): boolean => calling.door.servers.find(heldBy(calling.door.sidecar.cell), server.name) === server;
  return prepareCall(judging, message, name, declared, { refresh: () => refreshCatalog(calling, name), isSame });
}

async function refreshCatalog({ door, asked, message, judging }: ToolCalling, name: string): Promise<void> {
  const { server, send, headers, identity } = asked;
  const { era, catalog } = judging;
  const isPinned = server.admitted !== null;
  // If definitions are not pinned, the existence of a tool is checked only once. After that only its headers are
  // needed, and only in the newest revision.
  const mustKnow = isPinned || !catalog.tools.has(name);
  if (!mustKnow && era === 'legacy') return;
  const ageMaxMs = isPinned ? pinnedAgeMs : mustKnow ? null : Number.POSITIVE_INFINITY;
  const now = door.sidecar.govern.clock.now();
  if (catalog.isCurrent(now, ageMaxMs)) return;
  const from = { send, era, headers, meta: message.params['_meta'] };
  const ask = (): Promise<readonly unknown[]> => askTools({ ...from, memory: door.bodies, keyId: identity.keyId });
  try {
    await catalog.refresh(now, ageMaxMs, ask);
  } catch (error) {
    // If the session is unknown or missing, the list and the call fail with the same error.
    if (error instanceof ListRefused && mustKnow)
      throw new RpcRefusal(error.status, errorText(message.id, rpcErrors.request, error.message));
    if (mustKnow || !(error instanceof UpstreamDown)) throw error;
  }
}

/**
 * Prepares requests other than calls, reads and the list of tools: other lists, subscriptions, the log level. The
 * policy decides about the method under its own name. If it does not permit the method, a list is answered as empty and
 * any other request is refused, and the server receives nothing. If it permits the method, request and answer are
 * redacted as the policy requires. Only a refusal is recorded, because listing visible items has no effect. Throws
 * `RpcRefusal` if the request must not be forwarded.
 */
async function prepareCheck(judging: Judging, message: ClientRequest): Promise<PreparedRequest> {
  const { govern, run, server, era } = judging;
  const { id, method, params } = message;
  const listed = listedBy(method);
  if (!offersWith(govern, run, readCall(judging, message))) {
    if (listed === null) return prepareRead(judging, message);
    throw new RpcRefusal(200, emptyListText(id, era, listed));
  }
  const { cursor } = params;
  const redacted = {
    ...redactedParams(run, sideline(run, server, method), params, ['cursor']),
    ...(cursor === undefined ? {} : { cursor }),
  };
  return {
    message: { ...message, params: redacted },
    declared: [],
    pending: {
      method,
      settle: async (response) => {
        const text = redactedAnswer(run, sideline(run, server, method), response);
        // A cache must not serve the list of one caller to another caller.
        const isOwn = era === 'modern' && listed !== null && memberAt(text, ['result']) !== null;
        return isOwn ? withMember(text, ['result', 'cacheScope'], '"private"') : text;
      },
      abandon: () => Promise.resolve(),
      passing: passingBy(run, server, method),
    },
  };
}

const emptyListText = (id: RpcId, era: Era, listed: string): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    result: { ...(era === 'modern' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}), [listed]: [] },
  });

const capabilities = ['result', 'capabilities'];

/**
 * Returns the handling of a greeting. It adjusts the capabilities that the server announces: the list of tools can
 * change with every policy change, and features that the proxy does not forward are removed.
 */
function greetingPending(method: string, passing: Pending['passing']): Pending {
  return {
    method,
    settle: ({ text }) => Promise.resolve(throughProxy(text)),
    abandon: () => Promise.resolve(),
    passing,
  };
}

function throughProxy(text: string): string {
  if (memberAt(text, capabilities) === null) return text;
  const withoutTasks = [
    [...capabilities, 'tasks'],
    [...capabilities, 'extensions', 'io.modelcontextprotocol/tasks'],
  ].reduce((result, path) => (memberAt(result, path) === null ? result : withoutMember(result, path)), text);
  return withMember(withoutTasks, [...capabilities, 'tools', 'listChanged'], 'true');
}
