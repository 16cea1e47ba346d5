// A request on its way through agentgateway, and what is decided of it. A call, and what is read, are of one server. A list is
// gathered from all servers: it is decided for each, and passes if one of them is permitted; another request to all of them passes
// only if each is permitted.
import { listedBy } from '../mcp/wire/methods.ts';
import { type ClientMessage, isFields } from '../mcp/wire/message.ts';
import type { Headers } from '../caller-headers.ts';
import type { Decision } from '../../decide/decision.ts';
import { refuse } from '../../decide/refusal.ts';
import { takenBack } from '../../govern/recorded.ts';
import type { GovernedRun } from '../../govern/run.ts';
import { type AwaitedCall, awaitedCall, type Denial, type Permit } from '../../govern/verdict.ts';
import { decidedFirst, type MeshDeps } from './asking.ts';
import { type GovernedAsk, withInput } from './mcp-ask.ts';

export interface McpDeciding {
  readonly run: GovernedRun;
  readonly gone: AbortSignal;
  readonly headers: Headers;
  /** The result will not be shown. */
  readonly hidesOutput: boolean;
}

export interface McpDecided {
  /** Of the servers whose part of it is permitted, by name. */
  readonly permits: ReadonlyMap<string, AwaitedCall>;
  /** The id that the request leaves. */
  readonly requestId: string;
  /** `params` in the place of those that came; null: they stay. */
  readonly changed: object | null;
}

/** At least one server. */
export async function decideForServers(
  deps: MeshDeps,
  asked: McpDeciding,
  message: ClientMessage,
  asks: ReadonlyMap<string, GovernedAsk>,
): Promise<McpDecided | { readonly denial: Denial }> {
  const permitted: Permitted[] = [];
  try {
    return await decideEach(deps, asked, message, asks, permitted);
  } catch (error) {
    // The request is refused, so none of what was permitted of it may stand.
    for (const { takeBack } of permitted) await takeBack(refuse('internal_error', 'the decision could not be made'));
    throw error;
  }
}

interface Permitted {
  readonly server: string;
  readonly permit: Permit;
  readonly takeBack: (why: Decision) => Promise<unknown>;
}

async function decideEach(
  deps: MeshDeps,
  { run, gone, headers, hidesOutput }: McpDeciding,
  message: ClientMessage,
  asks: ReadonlyMap<string, GovernedAsk>,
  permitted: Permitted[],
): Promise<McpDecided | { readonly denial: Denial }> {
  let denial: Denial | null = null;
  const isList = message.kind === 'request' && listedBy(message.method) !== null;
  for (const [server, { tool, input }] of asks) {
    const { verdict, judged } = await decidedFirst(deps, { run, call: { tool, input, hidesOutput }, gone, forwards: isFields, headers });
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
    if (denial === null) throw new RangeError('a request is for a server');
    for (const { takeBack } of permitted) await takeBack(denial.decision);
    return { denial };
  }
  const permits = new Map(permitted.map(({ server, permit }) => [server, awaitedCall(permit)]));
  return { permits, requestId: first.permit.requestId, changed: changedParams(message, asks, permitted) };
}

/** Where policy redacts for one of the servers, the others get what it gets. */
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
