// What is done with a request before a tool server hears of it, by what kind of request it is.
import type { GovernedRun } from '../../govern/run.ts';
import { offers } from '../../govern/offers.ts';
import { prepareAside } from './aside.ts';
import { askTools, ListRefused } from './ask.ts';
import { type Judging, prepareCall, prepareRead } from './call.ts';
import { passingBy } from './passing.ts';
import { type Asked, type Door, viewerOf } from './door.ts';
import { greetingPending } from './greeting.ts';
import { headerProblem, paramHeaderProblem } from './wire/headers.ts';
import { listPending, policyName } from './list.ts';
import { listenPending } from './listen.ts';
import { type ClientRequest, isFields } from './wire/message.ts';
import { type Era, treatmentOf } from './wire/methods.ts';
import { type Pending, plainPending, type Prepared } from './pending.ts';
import { errorText, Refused, rpcErrors } from './wire/rpc.ts';
import { UpstreamDown } from './upstream.ts';

interface Preparing {
  readonly era: Era;
  readonly message: ClientRequest;
  readonly run: GovernedRun;
}

/** A request as it goes on, and what becomes of its answer. Throws `Refused` where it does not go on. */
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

// How long a definition that was admitted is believed to be what the server still has: for calls that come together.
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
  // Who may not call the tool makes nobody ask for it.
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
  // Whether there is such a tool is asked for once; what else of it is needed is its headers, in the newest revision.
  const mustKnow = isPinned || !catalog.tools.has(name);
  if (!mustKnow && era === 'legacy') return;
  const ageMaxMs = isPinned ? pinnedAgeMs : mustKnow ? null : Number.POSITIVE_INFINITY;
  const from = { send, era, headers, meta: message.params['_meta'] };
  const ask = (): Promise<readonly unknown[]> => askTools({ ...from, room: door.bodies, keyId: identity.keyId });
  try {
    await catalog.refresh(door.sidecar.govern.clock.now(), ageMaxMs, ask);
  } catch (error) {
    // What a session that is gone, or none, is told of its call it is told of the list too.
    if (error instanceof ListRefused && mustKnow) throw new Refused(error.status, errorText(message.id, rpcErrors.request, error.message));
    if (mustKnow || !(error instanceof UpstreamDown)) throw error;
  }
}
