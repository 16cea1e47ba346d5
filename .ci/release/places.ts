// Where the version of a release is written. It is set in one place, the `version` of the root's package.json. Every
// other place is listed here: `npm run release -- --set-version` writes them, and test/release/places.test.ts fails where
// one differs, or where the version is in a file that is not listed.
//
// The API document is no such place: its version is the date of the API's description, and stays while the API does.

interface Place {
  readonly path: string;
  /** The versions that the text has at this place. */
  readonly find: (text: string) => readonly string[];
  readonly replace: (text: string, version: string) => string;
}

/** Reads a file by its path from the root of the repository. */
export type ReadFile = (path: string) => string;

const source = 'package.json';

/** What a version looks like in a file: `0.1.0`, or `1.0.0-rc.1`. */
const form = String.raw`\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?`;
const wholeForm = new RegExp(`^${form}$`);

/** Each pattern has `%` where the version is. */
function byPattern(path: string, ...patterns: readonly string[]): Place {
  const expressions = patterns.map((pattern) => {
    const [before = '', after = ''] = pattern.split('%');
    return new RegExp(`(?<=${before})${form}(?=${after})`, 'gm');
  });
  return {
    path,
    // Without a match the place has no version, and that is a difference too.
    find: (text) => expressions.flatMap((one) => text.match(one) ?? ['none']),
    replace: (text, version) => expressions.reduce((changed, one) => changed.replace(one, version), text),
  };
}

interface LockedPackage {
  version?: string;
  readonly dependencies?: Record<string, string>;
  readonly peerDependencies?: Record<string, string>;
}

/** A lock file: its own version, and those of the packages of this repository, which are not below node_modules. */
function byLock(path: string): Place {
  interface Lock {
    version: string;
    readonly packages: Readonly<Record<string, LockedPackage>>;
  }
  const ownOf = ({ packages }: Lock): readonly LockedPackage[] =>
    Object.entries(packages).flatMap(([name, one]) => (name.includes('node_modules/') ? [] : [one]));
  const groupsOf = ({ dependencies = {}, peerDependencies = {} }: LockedPackage) => [dependencies, peerDependencies];
  const isOurs = (name: string): boolean => name.startsWith('@tollgate/');
  return {
    path,
    find: (text) => {
      const lock: Lock = JSON.parse(text);
      return [
        lock.version,
        ...ownOf(lock).flatMap((one) => [
          one.version ?? 'none',
          ...groupsOf(one).flatMap((group) => Object.entries(group).flatMap(([name, version]) => (isOurs(name) ? [version] : []))),
        ]),
      ];
    },
    replace: (text, version) => {
      const lock: Lock = JSON.parse(text);
      lock.version = version;
      for (const one of ownOf(lock)) {
        one.version = version;
        for (const group of groupsOf(one)) for (const name of Object.keys(group)) if (isOurs(name)) group[name] = version;
      }
      return `${JSON.stringify(lock, null, 2)}\n`;
    },
  };
}

const own = String.raw`^  "version": "%"`;
const ofOurs = String.raw`^    "@tollgate/[a-z-]+": "%"`;
const label = 'app\\.kubernetes\\.io/version: "%"';
const image = (repository: string): string => String.raw`${repository}/(?:control-plane|sidecar):%`;
const placeholder = image('IMAGE_REPOSITORY_IS_REQUIRED');

export const places: readonly Place[] = [
  byPattern(source, own),
  byPattern('proto/package.json', own),
  byPattern('sidecar/package.json', own, ofOurs),
  byPattern('deploy/inject/package.json', own, ofOurs),
  byPattern('cli/package.json', own, ofOurs),
  byPattern('control-plane/package.json', own, ofOurs),
  byPattern('console/package.json', own),
  byPattern('site/package.json', own),
  byLock('package-lock.json'),
  byLock('site/package-lock.json'),
  // What the control plane, and the agent of the demo, say of themselves to MCP servers.
  byPattern('control-plane/runs/mcp/connect.ts', "name: 'tollgate', version: '%'"),
  byPattern('sidecar/examples/demo/agent.ts', "name: 'tollgate-demo', version: '%'"),
  // pyproject.toml takes it from there.
  byPattern('clients/python/src/tollgate_client/_gate.py', '^version = "%"'),
  byPattern('deploy/images/Containerfile', 'org\\.opencontainers\\.image\\.version="%"'),
  byPattern('deploy/helm/tollgate/Chart.yaml', '^version: %', '^appVersion: %'),
  byPattern('deploy/kustomize/base/control-plane.yaml', label, placeholder),
  byPattern('deploy/kustomize/injector/injector.yaml', label, placeholder),
  byPattern('deploy/kustomize/mtls/mtls.yaml', label),
  byPattern('deploy/kustomize/example/kustomization.yaml', 'newTag: %'),
  byPattern('deploy/test/charts.sh', image('registry\\.example/tollgate')),
  byPattern('deploy/test/cluster.sh', 'registry\\.example\\.com/tollgate/\\$one:%'),
  byPattern('docs/operate/try-kubernetes.md', image('registry\\.example\\.com/tollgate')),
  byPattern('docs/operate/build-images.md', '\\$REPOSITORY/(?:\\$one|control-plane):%'),
  byPattern('docs/operate/kubernetes-settings.md', image('registry\\.example\\.com/tollgate')),
  byPattern('docs/operate/install-from-files.md', ':%'),
  byPattern('docs/guide/kubernetes.md', '\\$REPOSITORY/\\$one:%', image('registry\\.example\\.com/tollgate')),
];

export function readVersion(read: ReadFile): string {
  const { version } = JSON.parse(read(source)) as { readonly version: string };
  return version;
}

/** The places that do not have the version of the root's package.json, each with what it has. */
export function findDifferences(read: ReadFile): readonly string[] {
  const version = readVersion(read);
  const differences = places.flatMap(({ path, find }) => {
    const others = [...new Set(find(read(path)).filter((one) => one !== version))];
    return others.map((one) => `${path} has the version ${one}, and ${source} has ${version}`);
  });
  return [...differences, ...findHeading(read, version)];
}

/** The first heading of the changelog is about this version. Its text is written by hand. */
function findHeading(read: ReadFile, version: string): readonly string[] {
  const heading = /^## (\S+)/m.exec(read('CHANGELOG.md'))?.[1] ?? 'none';
  return heading === version ? [] : [`CHANGELOG.md begins with the version ${heading}, and ${source} has ${version}`];
}

/** Files that have these digits and mean something else. */
const elsewhere: Readonly<Record<string, string>> = {
  'CHANGELOG.md': 'its first heading is compared; the other text says what was',
  'deploy/test/charts.sh': 'an image repository with a tag is one of the values that the chart must refuse',
  'docs/operate/look-after-sidecars.md': 'an output that was recorded',
  'docs/doors/hook-endpoint.md': 'the version of a package of other authors',
  'package-lock.json': 'packages of other authors',
  'site/package-lock.json': 'packages of other authors',
};

/** The files among `paths` that have the version outside of the places. */
export function findUnlisted(paths: readonly string[], read: ReadFile): readonly string[] {
  const digits = new RegExp(`(?<![\\w.])${readVersion(read).replaceAll('.', '\\.')}(?![\\w]|\\.\\d)`);
  return paths.filter((path) => {
    if (elsewhere[path] !== undefined) return false;
    const text = read(path);
    // With the places changed, the version is only left where no place is.
    const listed = places.filter((one) => one.path === path);
    return digits.test(listed.reduce((changed, one) => one.replace(changed, '999.0.0'), text));
  });
}

/** The files that change, with their new text. */
export function setVersion(version: string, read: ReadFile): ReadonlyMap<string, string> {
  if (!wholeForm.test(version)) throw new Error(`${version} is no version; write it as 1.2.3, or 1.2.3-rc.1`);
  const texts = new Map<string, string>();
  for (const { path, replace } of places) {
    const text = texts.get(path) ?? read(path);
    const changed = replace(text, version);
    if (changed !== text) texts.set(path, changed);
  }
  return texts;
}
