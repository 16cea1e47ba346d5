// Prepares a request before a tool server receives it, depending on the kind of request.
import type { GovernedRun } from '../../../engine/govern/run.ts';
import { offers } from '../../../engine/govern/offers.ts';
import { prepareAside } from './aside.ts';
import { askTools, ListRefused } from '../list/ask-tools.ts';
import { type Judging, prepareCall, prepareRead } from './call.ts';
import { passingBy } from './passing.ts';
import { type Asked, type Door, viewerOf } from '../door.ts';
import { greetingPending } from './greeting.ts';
import { headerProblem, paramHeaderProblem } from '../../../upstream/wire/headers.ts';
import { listPending, policyName } from '../list/list.ts';
import { listenPending } from '../list/listen.ts';
import { type ClientRequest, isFields } from '../../../upstream/wire/message.ts';
import { type Era, treatmentOf } from '../../../upstream/wire/methods.ts';
import { type Pending, plainPending, type Prepared } from './pending.ts';
import { errorText, Refused, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { UpstreamDown } from '../../../upstream/upstream.ts';

interface Preparing {
  readonly era: Era;
  readonly message: ClientRequest;
  readonly run: GovernedRun;
}

/** The request to forward, and the handling of its answer. Throws `Refused` if it must not be forwarded. */
export async function prepare(door: Door, asked: Asked, preparing: Preparing): Promise<Prepared> {
  const { era, message, run } = preparing;
  const treatment = treatmentOf(era, message.method);
  if (treatment === null) throw new Refused(era === 'modern' ? 404 : 200, errorText(message.id, rpcErrors.method, 'Method not found'));
  const mismatch = era === 'modern' ? headerProblem(message, asked.headers) : null;
  if (mismatch !== null) throw new Refused(400, errorText(message.id, rpcErrors.headers, mismatch));
  const viewer = viewerOf(door, asked, run);
  const passing = passingBy(run, asked.server, message.method);
  const { sidecar, metrics, tracing } = door;
  const judging: Judging = { ...viewer, sidecar, metrics, tracing, requestHeaders: asked.request.headers, era };
  const plain = (pending: Pending): Prepared => ({ message, declared: [], pending });
  switch (treatment) {
    case 'call':
      return prepareToolCall({ door, asked, message, judging });
    case 'read':
      return prepareRead(judging, message);
    case 'aside':
      return prepareAside(judging, message);
    case 'tools':
      return plain(listPending(viewer, era, passing));
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
  readonly asked: Asked;
  readonly message: ClientRequest;
  readonly judging: Judging;
}

// How long, in ms, an admitted definition counts as current. This covers calls that arrive together.
const pinnedAgeMs = 1_000;

async function prepareToolCall(calling: ToolCalling): Promise<Prepared> {
  const { asked, message, judging } = calling;
  const { server, headers } = asked;
  const { era, govern, run, catalog } = judging;
  const { name, arguments: args } = message.params;
  const badParams = (problem: string): Refused => new Refused(200, errorText(message.id, rpcErrors.params, problem));
  if (typeof name !== 'string') throw badParams('params.name must be the name of a tool');
  if (args !== undefined && !isFields(args)) throw badParams('params.arguments must be an object');
  if ('task' in message.params) throw badParams('params.task: calls as tasks are not taken here');
  // A caller without permission for the tool must not cause a request for the list.
  if (offers(govern, run, policyName(server, name))) await refreshCatalog(calling, name);
  const declared = era === 'modern' ? (catalog.tools.get(name)?.headers ?? []) : [];
  const mismatch = paramHeaderProblem(declared, args, headers);
  if (mismatch !== null) throw new Refused(400, errorText(message.id, rpcErrors.headers, mismatch));
  return prepareCall(judging, message, name, declared);
}

async function refreshCatalog({ door, asked, message, judging }: ToolCalling, name: string): Promise<void> {
  const { server, send, headers, identity } = asked;
  const { era, catalog } = judging;
  const isPinned = server.admitted !== null;
  // The existence of a tool is checked once. Apart from that only its headers are needed, in the newest revision.
  const mustKnow = isPinned || !catalog.tools.has(name);
  if (!mustKnow && era === 'legacy') return;
  const ageMaxMs = isPinned ? pinnedAgeMs : mustKnow ? null : Number.POSITIVE_INFINITY;
  const from = { send, era, headers, meta: message.params['_meta'] };
  const ask = (): Promise<readonly unknown[]> => askTools({ ...from, room: door.bodies, keyId: identity.keyId });
  try {
    await catalog.refresh(door.sidecar.govern.clock.now(), ageMaxMs, ask);
  } catch (error) {
    // If the session is unknown or missing, the error for the list is also the error for the call.
    if (error instanceof ListRefused && mustKnow) throw new Refused(error.status, errorText(message.id, rpcErrors.request, error.message));
    if (mustKnow || !(error instanceof UpstreamDown)) throw error;
  }
}
