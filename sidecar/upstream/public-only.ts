// Makes connections to servers that a workspace has defined, for the proxy of a sidecar and for the runs of a control
// plane. The address must be public at the time of the connection, so neither a changed DNS result nor an address in a
// URL leads into the private network.
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '@tollgate/proto/contract';
import type { Agent } from 'undici';
import { UpstreamDown, upstreamBounds } from './upstream.ts';

interface Address {
  readonly address: string;
  readonly family: number;
}
/** Resolves a host name to all its addresses. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true, verbatim: true });

export interface AddressRules {
  /** Allows addresses that are not public. */
  readonly allowPrivate: boolean;
  readonly resolve: Resolve;
}

/**
 * The connection is refused because the address is not allowed. Every other `UpstreamDown` is a failure of the server.
 */
export class AddressRefused extends UpstreamDown {}

const notPublic = 'is not at a public address; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow it';
// The text is the same for both causes, because it must not reveal which internal names exist.
const notPublicName =
  'is not at a public address, or has a host name that cannot be resolved; TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS=true would allow private ones';

/**
 * Returns a problem if the host in the URL is itself an address that is not public. Null: there is no problem. No name
 * is resolved for such a URL, so the address is checked here.
 */
export function literalAddressProblem(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && !isPublicAddress(host) ? notPublic : null;
}

/** An HTTP agent that is created at its first use. The HTTP client, which takes 5 MB of memory, is loaded then. */
interface LateAgent {
  /** Rejects with an `UpstreamDown` after `destroy`. */
  readonly get: () => Promise<Agent>;
  /** Ends the connections of the agent. */
  readonly destroy: () => Promise<void>;
}

export function createLateAgent(rules: AddressRules): LateAgent {
  let agent: Promise<Agent> | null = null;
  let isEnded = false;
  return {
    get: () => {
      if (isEnded) return Promise.reject(new UpstreamDown('is no longer connected'));
      agent ??= createAgent(rules);
      return agent;
    },
    destroy: async () => {
      isEnded = true;
      await (await agent)?.destroy();
    },
  };
}

/**
 * Creates an HTTP agent. Its connections fail with an `UpstreamDown` if the name has no address, or has an address that
 * is not allowed.
 */
async function createAgent({ allowPrivate, resolve }: AddressRules): Promise<Agent> {
  const { Agent } = await import('undici');
  const refusal = (): UpstreamDown =>
    allowPrivate ? new UpstreamDown('has a host name that cannot be resolved') : new AddressRefused(notPublicName);
  const findAddresses = callbackify(async (hostname: string): Promise<readonly Address[]> => {
    const all = await resolve(hostname).catch(() => []);
    if (all.length === 0) throw refusal();
    // One private address is enough for a refusal, because the connection may use any of the addresses.
    if (!allowPrivate && !all.every(({ address }) => isPublicAddress(address))) throw refusal();
    return all;
  });
  const find: LookupFunction = (hostname, { family, all }, callback) =>
    findAddresses(hostname, (problem: Error | null, found) => {
      const wanted = problem === null ? found.filter((one) => !family || one.family === family) : [];
      const [first] = wanted;
      if (first === undefined) callback(problem ?? refusal(), '', 0);
      else if (all === true) callback(null, [...wanted]);
      else callback(null, first.address, first.family);
    });
  return new Agent({
    connect: { timeout: upstreamBounds.connectMs, lookup: find },
    headersTimeout: upstreamBounds.headersMs,
    // Streams may be silent for any time.
    bodyTimeout: 0,
  });
}
