// Connections for servers that a workspace has defined: to addresses that are public when the connection is made, so that
// neither a name that resolves anew nor an address in a URL leads inside. The control plane asks such servers by the same rule.
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '@tollgate/proto/contract';
import { Agent } from 'undici';
import { UpstreamDown, upstreamBounds } from '../mcp/upstream.ts';

interface Address {
  readonly address: string;
  readonly family: number;
}
/** Every address of a host name. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, verbatim: true });

// One text: which names there are inside is nobody's business outside.
const refusal =
  'is not at a public address, or has a name that does not resolve; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow private ones';

/** Where an address stands in the URL no name is looked up, so it is looked at here. */
export function literalAddressProblem(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !isPublicAddress(host) ? refusal : null;
}

export const createAgent = (): Agent => new Agent({ connect: { timeout: upstreamBounds.connectMs } });

export function createPublicOnlyAgent(resolve: Resolve): Agent {
  const findAddresses = callbackify(async (hostname: string): Promise<readonly Address[]> => {
    const all = await resolve(hostname).catch(() => []);
    // One among several is enough: which of them is connected to is not said here.
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
