// Defines `npm run test:long`: its parts, which of them a command line selects, and how their results are shown. run.ts
// runs them.

interface Need {
  /** Ends with 0 where the requirement is met. */
  readonly check: Command;
  /** What to do where it is not. */
  readonly remedy: string;
}

type Command = readonly [program: string, ...words: readonly string[]];

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly command: Command;
  readonly env?: Readonly<Record<string, string>>;
  /** Requirements that the command does not install itself. */
  readonly needs?: readonly Need[];
}

export const parts: readonly Part[] = [
  {
    name: 'cases',
    about: 'the properties of the semantics over a million generated cases',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'unit', 'test/semantics'],
    env: { TOLLGATE_TEST_CASES: '1000000' },
  },
  {
    name: 'shell',
    about: '20,000 generated lines, each read by the function shell() of conditions and looked up by a real bash',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'unit', 'test/shell/compare.test.ts'],
    env: { TOLLGATE_TEST_LINES: '20000' },
  },
  {
    name: 'conditions',
    about: 'conditions compared with @bufbuild/cel and cel-go over 100,000 generated expressions',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'unit', 'test/sidecar/engine/conditions/differential.test.ts'],
    env: { TOLLGATE_TEST_CASES: '1000000', TOLLGATE_TEST_CEL_GO: '1' },
    needs: [{ check: ['go', 'version'], remedy: 'install Go 1.23 or later' }],
  },
  {
    name: 'kills',
    about: '200 kills of the built programs at random, under load',
    command: ['npm', 'run', '--silent', 'test:chaos', '--', '--kills', '200'],
  },
  {
    name: 'approvals',
    about: '300 kills of control planes, sidecars and PostgreSQL while two sidecars race for the use of an approval',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'chaos', 'test/chaos/approvals-killed.test.ts'],
    env: { TOLLGATE_TEST_APPROVAL_KILLS: '300' },
  },
  {
    name: 'trust',
    about: 'attacks with stolen keys at dd0685b, where each succeeds, and what that version left, taken over by this tree',
    command: ['sh', '-c', 'node --import tsx test/trust/at.ts dd0685b && node --import tsx test/upgrade/take-over.ts dd0685b'],
  },
  {
    name: 'flood',
    about:
      'ten minutes of one key that names a new session, chain or tool each time, on a sidecar and on a control plane; five with a control plane that stands still for one',
    command: [
      'sh',
      '-c',
      'flood="node --import tsx test/long/flood.ts"; $flood; a=$?; $flood --program control-plane; b=$?; $flood --minutes 5 --stall 60 --every-door; [ "$a$b$?" = 000 ]',
    ],
  },
  {
    name: 'tail',
    about: 'ten minutes of 200 decisions a second in front of the live page of the console, which must not grow',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'console', 'test/console/live-tail.test.ts'],
    env: { TOLLGATE_TEST_TAIL_CALLS: '20000', TOLLGATE_TEST_TAIL_RATE: '200' },
    needs: [{ check: ['chromium-headless-shell', '--version'], remedy: 'apt-get install --no-install-recommends chromium-headless-shell' }],
  },
  {
    name: 'moved',
    about: 'docs/design/moved.md: the history of each file that was moved leads to the former file',
    command: ['node', '--import', 'tsx', 'test/long/moved.ts'],
  },
  {
    name: 'writes',
    about: '100 times 20 concurrent writes of one policy document, each answered 200 or 412',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'store', 'test/control-plane/concurrent-writes.test.ts'],
    env: { TOLLGATE_TEST_ROUNDS: '100' },
  },
  {
    name: 'lists',
    about: 'every list of REST with 10,000 items, read by pages while items are added and removed',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'store', 'test/store/lists-in-pages.test.ts'],
    env: { TOLLGATE_TEST_ITEMS: '10000' },
  },
  {
    name: 'python',
    about: 'the adapters of the Python client, all tests and types, in the newest and the oldest supported versions of the frameworks',
    command: ['sh', '-c', '.ci/python-frameworks newest; a=$?; .ci/python-frameworks oldest; [ "$a$?" = 00 ]'],
    needs: [{ check: ['python3', '-c', 'import ensurepip, venv'], remedy: 'apt-get install --no-install-recommends python3-venv' }],
  },
  {
    name: 'typescript',
    about: 'the library in the newest and the oldest supported versions of the frameworks whose tools it governs',
    command: ['sh', '-c', 'test/frameworks/run newest; a=$?; test/frameworks/run oldest; [ "$a$?" = 00 ]'],
  },
  {
    name: 'release',
    about:
      'all artefacts of a release, twice with the same bytes (images: the same files), and docs/operate/install-from-files.md in an empty folder that has them alone',
    command: ['node', '--import', 'tsx', 'test/release/main.ts'],
    needs: [
      { check: ['sh', '-c', '[ "$(id -u)" = 0 ]'], remedy: 'run it as root, on Debian 12: it builds images' },
      { check: ['sh', '-c', '[ -z "$(git status --porcelain)" ]'], remedy: 'commit first: a release is made of a commit' },
      { check: ['python3', '-c', 'import ensurepip, venv'], remedy: 'apt-get install --no-install-recommends python3-venv' },
    ],
  },
  {
    name: 'times',
    about: 'what takes real time: the tests of test/long',
    command: ['npx', '--no-install', 'vitest', 'run', '--project', 'long'],
    env: { TOLLGATE_TEST_LONG: '1' },
  },
  {
    name: 'cluster',
    about:
      'the chart on a Kubernetes of one node (deploy/test/cluster.sh), and docs/operate/try-kubernetes.md; the first run compiles Kubernetes',
    command: ['bash', 'deploy/test/cluster.sh'],
    needs: [
      { check: ['sh', '-c', '[ "$(id -u)" = 0 ]'], remedy: 'run it as root: it makes a Debian, and containers' },
      { check: ['apt-get', '--version'], remedy: 'run it on Debian 12: it installs packages by apt-get' },
      { check: ['python3', '-m', 'pip', '--version'], remedy: 'apt-get install --no-install-recommends python3-pip' },
    ],
  },
];

export type LongArguments =
  | { readonly kind: 'list' }
  | { readonly kind: 'run'; readonly parts: readonly Part[] }
  | { readonly kind: 'refused'; readonly problem: string };

/** Without a name all parts are selected; names keep the order of the parts. */
export function readArguments(words: readonly string[], all: readonly Part[] = parts): LongArguments {
  if (words.length === 1 && words[0] === '--list') return { kind: 'list' };
  const unknown = words.filter((word) => all.every(({ name }) => name !== word));
  if (unknown.length > 0) {
    const known = all.map(({ name }) => name).join(', ');
    return { kind: 'refused', problem: `test:long has no part ${unknown.join(', ')}: it has ${known}, and takes --list alone` };
  }
  return { kind: 'run', parts: words.length === 0 ? all : all.filter(({ name }) => words.includes(name)) };
}

export const listOf = (all: readonly Part[]): readonly string[] => all.map(({ name, about }) => `${name.padEnd(12)}${about}`);

export interface Result {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'not run';
  readonly seconds: number;
}

export const tableOf = (results: readonly Result[]): readonly string[] =>
  results.map(({ name, outcome, seconds }) => `${name.padEnd(12)}${outcome.padEnd(8)}${String(Math.round(seconds)).padStart(6)} s`);

export const hasPassed = (results: readonly Result[]): boolean => results.every(({ outcome }) => outcome === 'passed');
