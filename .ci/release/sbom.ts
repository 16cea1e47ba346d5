// The lists of parts (SBOM) of a release, in the format CycloneDX. npm, cyclonedx-py and Syft write them. Here the list
// that npm makes of the whole repository becomes one for each package, and each list loses what differs between two
// runs: its random number and the time of day.
import { createHash } from 'node:crypto';

interface Component {
  readonly 'bom-ref'?: string;
  readonly type: string;
  readonly name: string;
  readonly version?: string;
  readonly purl?: string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly properties?: readonly { readonly name: string }[];
}

export interface Bom {
  readonly serialNumber?: string;
  readonly metadata: { readonly timestamp?: string; readonly component?: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

/**
 * What one package needs, of the list of the whole repository. `id`: its name and version, as in `@tollgate/cli@1.2.3`.
 * `sha256`: the digest of its tarball. `isBundle`: the package contains others, which are development dependencies then.
 */
export function listOfPackage(whole: Bom, id: string, { sha256, isBundle }: { readonly sha256: string; readonly isBundle: boolean }): Bom {
  const own = whole.components.find((one) => one['bom-ref'] === id);
  if (own === undefined) throw new Error(`the list that npm made has no ${id}`);
  const left = new Set(whole.components.filter((one) => !isBundle && isForDevelopment(one)).map((one) => one['bom-ref']));
  const needs = new Map(whole.dependencies.map(({ ref, dependsOn = [] }) => [ref, dependsOn.filter((one) => !left.has(one))]));
  // A set that is walked while it grows.
  const reached = new Set([id]);
  for (const ref of reached) for (const needed of needs.get(ref) ?? []) reached.add(needed);
  return {
    ...withComponent(whole, { ...own, name: nameOf(own), hashes: hashesOf(sha256) }),
    components: whole.components
      .filter((one) => one !== own && reached.has(one['bom-ref'] ?? ''))
      .map((one) => ({ ...one, name: nameOf(one) })),
    dependencies: [...needs].flatMap(([ref, dependsOn]) => (reached.has(ref) ? [{ ref, dependsOn }] : [])),
  };
}

const hashesOf = (sha256: string) => [{ alg: 'SHA-256', content: sha256 }];

const withComponent = (bom: Bom, component: Component): Bom => ({ ...bom, metadata: { ...bom.metadata, component } });

/** The list that was made of an environment, with what it does not know of the distribution: version and digest. */
export function listOfDistribution(bom: Bom, version: string, sha256: string): Bom {
  const own = bom.metadata.component;
  if (own === undefined) throw new Error('the list that cyclonedx-py made is about nothing');
  const purl = `pkg:pypi/${own.name}@${version}`;
  return withComponent(bom, { ...own, type: 'library', version, purl, hashes: hashesOf(sha256) });
}

const isForDevelopment = ({ properties = [] }: Component): boolean => properties.some(({ name }) => name === 'cdx:npm:package:development');

/** npm gives a package of this repository the name of its folder. */
function nameOf({ 'bom-ref': ref = '', name }: Component): string {
  const at = ref.lastIndexOf('@');
  return at > 0 ? ref.slice(0, at) : name;
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
