// Connections to servers that a workspace has defined. The address must be public at the time of the connection, so
// neither a changed DNS result nor an address in a URL leads into the private network. The control plane applies the
// same rule to such servers.
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '@tollgate/proto/contract';
import { Agent } from 'undici';
import { UpstreamDown, upstreamBounds } from './upstream.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}
/** Resolves a host name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, verbatim: true });

// A single text for all causes, because it must not reveal which internal names exist.
const refusal =
  'is not at a public address, or has a name that does not resolve; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow private ones';

/** For an address in the URL no name is resolved, so the address is checked here. */
export function literalAddressProblem(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !isPublicAddress(host) ? refusal : null;
}

export const createAgent = (): Agent => new Agent({ connect: { timeout: upstreamBounds.connectMs } });

export function createPublicOnlyAgent(resolve: Resolve): Agent {
  const findAddresses = callbackify(async (hostname: string): Promise<readonly Address[]> => {
    const all = await resolve(hostname).catch(() => []);
    // One private address is enough for a refusal, because the connection may use any of them.
    if (all.length === 0 || !all.every(({ address }) => isPublicAddress(address))) throw new UpstreamDown(refusal);
    return all;
  });
  const find: LookupFunction = (hostname, { family, all }, callback) =>
    findAddresses(hostname, (problem: Error | null, found) => {
      const wanted = problem === null ? found.filter((one) => !family || one.family === family) : [];
      const [first] = wanted;
      if (first === undefined) callback(problem ?? new UpstreamDown(refusal), '', 0);
      else if (all === true) callback(null, [...wanted]);
      else callback(null, first.address, first.family);
    });
  return new Agent({ connect: { timeout: upstreamBounds.connectMs, lookup: find } });
}
