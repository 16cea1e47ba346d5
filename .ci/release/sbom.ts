// The lists of parts (SBOM) of a release, in the format CycloneDX. npm, cyclonedx-py and Syft write them. Here the list
// that npm makes of the whole repository becomes one for each package, and each list loses what differs between two
// runs: its random number and the time of day.
import { createHash } from 'node:crypto';

interface Component {
  readonly 'bom-ref'?: string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
}

export interface Bom {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component?: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/** What one package needs, of the list of the whole repository. `sha256`: the digest of its tarball. */
export function listOfPackage(whole: Bom, name: string, sha256: string): Bom {
  const own = whole.components.find((one) => one.name === name);
  const start = own?.['bom-ref'];
  if (own === undefined || start === undefined) throw new Error(`the list that npm made has no ${name}`);
  const needs = new Map(whole.dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn]));
  // A set that is walked while it grows.
  const reached = new Set([start]);
  for (const ref of reached) for (const needed of needs.get(ref) ?? []) reached.add(needed);
  const component = { ...own, hashes: [{ alg: 'SHA-256', content: sha256 }] };
  return {
    ...whole,
    metadata: { ...whole.metadata, component },
    components: whole.components.filter((one) => one !== own && reached.has(one['bom-ref'] ?? '')),
    dependencies: whole.dependencies.filter(({ ref }) => reached.has(ref)),
  };
}

/** The text of the list, with the time of the commit, in seconds, and with a number made of its content. */
export function textOf(bom: Bom, epoch: number): string {
  const { serialNumber: _, ...rest } = bom;
  const timed = { ...rest, metadata: { ...bom.metadata, timestamp: new Date(epoch * 1_000).toISOString() } };
  const hex = createHash('sha256').update(JSON.stringify(timed)).digest('hex');
  // Version 8 of RFC 9562: an id by a rule of one's own.
  const id = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
  return `${JSON.stringify({ ...timed, serialNumber: `urn:uuid:${id}` }, null, 2)}\n`;
}
