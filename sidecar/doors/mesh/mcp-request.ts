// Decides a request through agentgateway. A call or a read is for one server. A list is collected from all servers: it
// is decided for each server, and it passes if at least one server is permitted. Any other request to all servers
// passes only if each server is permitted.
import { listedBy } from '../../upstream/wire/methods.ts';
import { type ClientMessage, isFields } from '../../upstream/wire/message.ts';
import type { Headers } from '../entrance/caller-headers.ts';
import type { Decision } from '../../engine/decide/decision.ts';
import { refuse } from '../../engine/decide/refusal.ts';
import { takenBack } from '../../engine/govern/recorded.ts';
import type { GovernedRun } from '../../engine/govern/run.ts';
import { type AwaitedCall, awaitedCall, type Denial, type Permit } from '../../engine/govern/verdict.ts';
import { besidesIn, headersBesides } from '../besides.ts';
import { decidedFirst, forwardedHeaders, type MeshDeps } from './asking.ts';
import { besidesOf, calledBy, type GovernedAsk, withInput } from './mcp-ask.ts';

export interface McpDeciding {
  readonly run: GovernedRun;
  readonly gone: AbortSignal;
  readonly headers: Headers;
  /** True: the gateway will not show the result of the request here. */
  readonly hidesOutput: boolean;
}

export interface McpDecided {
  /** The permits of the permitted servers, by the name of the server. */
  readonly permits: ReadonlyMap<string, AwaitedCall>;
  /** The id that the gateway returns with the result. */
  readonly requestId: string;
  /** The `params` to forward in place of the original ones. Null: they are unchanged. */
  readonly changed: object | null;
}

/** Decides a request for each server in `asks`, which contains at least one. */
export async function decideForServers(
  deps: MeshDeps,
  asked: McpDeciding,
  message: ClientMessage,
  asks: ReadonlyMap<string, GovernedAsk>,
): Promise<McpDecided | { readonly denial: Denial }> {
  const permitted: PermittedServer[] = [];
  try {
    return await decideEach(deps, asked, message, asks, permitted);
  } catch (error) {
    // The whole request is refused, so permits that were already recorded are taken back.
    for (const { takeBack } of permitted) await takeBack(refuse('internal_error', 'the decision could not be made'));
    throw error;
  }
}

type Fields = Readonly<Record<string, unknown>>;

interface PermittedServer {
  readonly server: string;
  readonly permit: Permit;
  readonly takeBack: (why: Decision) => Promise<unknown>;
}

async function decideEach(
  deps: MeshDeps,
  { run, gone, headers, hidesOutput }: McpDeciding,
  message: ClientMessage,
  asks: ReadonlyMap<string, GovernedAsk>,
  permitted: PermittedServer[],
): Promise<McpDecided | { readonly denial: Denial }> {
  let denial: Denial | null = null;
  const isList = message.kind === 'request' && listedBy(message.method) !== null;
  for (const [server, ask] of asks) {
    const call = { ...calledBy(ask), hidesOutput };
    const params = (): Fields => (message.kind === 'response' ? {} : besidesOf(ask, message.params));
    const besides = (): Fields => besidesIn({ headers: headersBesides(forwardedHeaders(headers), run.facts.sessionId), params: params() });
    const { verdict, judged } = await decidedFirst(deps, { run, call, besides, gone, forwards: isFields, headers });
    if (verdict.allowed)
      permitted.push({
        server,
        permit: verdict,
        takeBack: async (decision) => judged.notMade && takenBack(deps.sidecar, judged.notMade(decision)),
      });
    else denial ??= verdict;
    if (denial !== null && (!isList || gone.aborted)) break;
  }
  const first = permitted[0];
  if (first === undefined || (denial !== null && (!isList || gone.aborted))) {
    if (denial === null) throw new RangeError('the map "asks" must contain at least one server');
    for (const { takeBack } of permitted) await takeBack(denial.decision);
    return { denial };
  }
  const permits = new Map(permitted.map(({ server, permit }) => [server, awaitedCall(permit)]));
  return { permits, requestId: first.permit.requestId, changed: changedParams(message, asks, permitted) };
}

/**
 * Returns the redacted params, or null if nothing was redacted. If the policy redacts for one server, all servers
 * receive the same redacted params.
 */
function changedParams(
  message: ClientMessage,
  asks: ReadonlyMap<string, GovernedAsk>,
  permitted: readonly { readonly server: string; readonly permit: Permit }[],
): object | null {
  const changing = permitted.find(({ permit: { decision, findings } }) => decision.transform === 'redact' && findings.length > 0);
  const kind = changing === undefined ? undefined : asks.get(changing.server)?.kind;
  if (changing === undefined || kind === undefined || message.kind === 'response') return null;
  return withInput(kind, message.params, changing.permit.input);
}
