// Who may import whom, what is pure, and what is loaded: `docs` and habits say it, this keeps it. Imports are read from
// the sources themselves.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasons } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What the packages' names stand for, in the sources. */
const entries: Readonly<Record<string, string>> = {
  '@tollgate/proto': 'proto/index.ts',
  '@tollgate/proto/contract': 'proto/contract/index.ts',
  '@tollgate/proto/mesh': 'proto/mesh.ts',
  '@tollgate/sidecar': 'sidecar/index.ts',
  '@tollgate/sidecar/engine/compile': 'sidecar/engine/compile/index.ts',
  '@tollgate/sidecar/engine': 'sidecar/engine/index.ts',
  '@tollgate/sidecar/hosts': 'sidecar/doors/coding-agents/index.ts',
  '@tollgate/sidecar/hooks': 'sidecar/doors/hooks/index.ts',
  '@tollgate/sidecar/engine/redact': 'sidecar/engine/redact/index.ts',
  '@tollgate/sidecar/telemetry': 'sidecar/telemetry/index.ts',
  '@tollgate/sidecar/upstream': 'sidecar/upstream/index.ts',
};

interface Import {
  /** As written. */
  readonly from: string;
  /** A source file of ours, by its path from the root; null for a package or a module of Node. */
  readonly file: string | null;
  /** `import type`, or of types only: nothing is loaded. */
  readonly typeOnly: boolean;
  /** Within a function: loaded once that runs. */
  readonly isLate: boolean;
  /** What is imported by name. */
  readonly names: readonly string[];
}

interface Source {
  readonly path: string;
  /** Without comments, and with the content of quotes taken out. */
  readonly code: string;
  readonly imports: readonly Import[];
}

const skipped = new Set(['node_modules', 'dist', 'gen', 'console', 'examples', 'migrations']);

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : filesIn(path);
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts') ? [path] : [];
  });
}

const statement = /^(?:import|export)\s+(?:(type)\s+)?([^'";]*?)\s*from\s*'([^']+)'|^import\s+'([^']+)'|\bimport\(\s*'([^']+)'/gm;

function readSource(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/(^|[^:'"`\\])\/\/.*$/gm, '$1');
  const imports = [...text.matchAll(statement)].map(([, type, clause = '', from, bare, dynamic]): Import => {
    const target = from ?? bare ?? dynamic ?? '';
    const named = /\{([\s\S]*)\}/
      .exec(clause)?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '');
    const allTypes =
      named !== undefined && named.length > 0 && named.every((name) => name.startsWith('type ')) && !/^[A-Za-z*]/.test(clause);
    return {
      from: target,
      file: fileOf(path, target),
      typeOnly: type !== undefined || allTypes,
      isLate: dynamic !== undefined,
      names: (named ?? []).map((name) => name.replace(/^type /, '')),
    };
  });
  return { path, imports, code: text.replaceAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g, "''") };
}

function fileOf(from: string, target: string): string | null {
  if (target.startsWith('.')) return relative(root, resolve(root, dirname(from), target));
  return entries[target] ?? null;
}

const sources: ReadonlyMap<string, Source> = new Map(
  ['proto', 'sidecar', 'control-plane'].flatMap(filesIn).map((path) => [path, readSource(path)]),
);

const inFolder = (folder: string): readonly Source[] => [...sources.values()].filter(({ path }) => path.startsWith(`${folder}/`));

/** `from → to` of every import of these sources that `allowed` does not allow. */
function breaches(of: readonly Source[], allowed: (one: Import, source: Source) => boolean): readonly string[] {
  expect(of.length).toBeGreaterThan(0);
  return of.flatMap((source) =>
    source.imports.filter((one) => !allowed(one, source)).map(({ from, file }) => `${source.path} → ${file ?? from}`),
  );
}

const within = (file: string | null, ...folders: readonly string[]): boolean =>
  file !== null && folders.some((folder) => file === folder || file.startsWith(`${folder}/`));

test('the imports were found', () => {
  expect(sources.size).toBeGreaterThan(120);
  expect([...sources.values()].flatMap(({ imports }) => imports).length).toBeGreaterThan(500);
  const dangling = [...sources.values()].flatMap(({ path, imports }) =>
    imports.filter(({ file }) => file !== null && !sources.has(file) && !file.includes('/gen/')).map(({ from }) => `${path} → ${from}`),
  );
  expect(dangling).toEqual([]);
  expect(sources.get('sidecar/engine/decide/decide.ts')?.imports).toContainEqual({
    from: './decision.ts',
    file: 'sidecar/engine/decide/decision.ts',
    typeOnly: false,
    isLate: false,
    names: expect.arrayContaining(['noLimits', 'Usage']),
  });
});

/** Of the control plane: each has its rules, store, operations and routes. */
const nouns = ['access', 'agents', 'audit', 'certificates', 'hooks', 'policies', 'quota', 'runs', 'sidecars', 'tool-servers', 'workspaces'];

const pureFolders = [
  'sidecar/engine/compile',
  'sidecar/engine/decide',
  'sidecar/engine/limits',
  'sidecar/engine/redact',
  'sidecar/upstream/wire',
  'control-plane/compile',
  'control-plane/policies/evaluate',
  ...['access', 'agents', 'audit', 'policies', 'quota', 'runs', 'sidecars', 'tool-servers'].map((noun) => `control-plane/${noun}/rules`),
  'control-plane/chain',
  'control-plane/inject',
  'proto/contract',
];
/** In folders that hold other things too. */
const pureFiles = [
  'sidecar/engine/snapshot/verify.ts',
  ...['clean-json', 'instant', 'network', 'refusal', 'shape'].map((name) => `control-plane/base/${name}.ts`),
];
/** What a pure module may take of Node and of packages: functions of their arguments. */
const pureImports: Readonly<Record<string, readonly string[]>> = {
  // Asked with a time; what it knows is in the package, and nobody asks it to fetch.
  '@pydantic/genai-prices': ['calcPrice', 'findProvider', 'ModelInfo', 'ModelPrice'],
  'node:buffer': ['isUtf8'],
  'node:crypto': ['createHash', 'createPublicKey', 'hash', 'KeyObject', 'timingSafeEqual', 'verify'],
  'node:net': ['BlockList', 'isIP'],
  'node:util': ['isDeepStrictEqual'],
  'lru-cache': ['LRUCache'],
  re2js: ['MatcherInput', 'RE2JS', 'RE2JSException'],
  'libphonenumber-js/max/metadata': ['default'],
  'validator/lib/isIBAN.js': ['default'],
  'validator/lib/isIdentityCard.js': ['default'],
  'validator/lib/isTaxID.js': ['default'],
};

test.each(pureFolders)('%s is pure: of modules it takes only functions of their arguments', (folder) => {
  const ours = (file: string | null): boolean => within(file, ...pureFolders, ...pureFiles, 'sidecar/engine/json/strict-json.ts');
  expect(
    breaches(
      inFolder(folder),
      ({ from, file, names, typeOnly }) =>
        ours(file) || typeOnly || (pureImports[from] !== undefined && names.every((name) => pureImports[from]?.includes(name))),
    ),
  ).toEqual([]);
});

const impure: readonly (readonly [string, RegExp])[] = [
  ['the environment', /\bprocess\b/],
  ['a clock', /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\b|\bhrtime\b/],
  ['chance', /\bMath\.random\b|\brandomBytes\b|\brandomUUID\b/],
  ['a timer', /\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b/],
  ['something that waits', /\basync\b|\bawait\b|\bnew Promise\b|\bPromise\./],
  ['a log', /\bconsole\b/],
  ['the network', /\bfetch\(/],
];

test.each(pureFolders)('%s is pure: no clock, no chance, no environment, no log, nothing that waits', (folder) => {
  const found = [...inFolder(folder), ...[...sources.values()].filter(({ path }) => pureFiles.includes(path))].flatMap(({ path, code }) =>
    impure.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path}: ${what}`),
  );
  expect(found).toEqual([]);
});

test('decide knows nothing of the sidecar around it', () => {
  const allowed = ({ file, from }: Import): boolean => within(file, 'sidecar/engine/decide', 'proto/contract') || from === 'lru-cache';
  expect(breaches(inFolder('sidecar/engine/decide'), allowed)).toEqual([]);
});

test('the contract knows nobody, and the rest of proto only it', () => {
  expect(breaches(inFolder('proto/contract'), ({ file, from }) => within(file, 'proto/contract') || from.startsWith('node:'))).toEqual([]);
  expect(breaches(inFolder('proto'), ({ file }) => file === null || within(file, 'proto'))).toEqual([]);
});

test('a sidecar knows nothing of the control plane', () => {
  expect(breaches(inFolder('sidecar'), ({ file, from }) => !within(file, 'control-plane') && !from.includes('control-plane'))).toEqual([]);
});

test('the control plane knows a sidecar by its entry points only', () => {
  expect(breaches(inFolder('control-plane'), ({ file, from }) => !within(file, 'sidecar') || entries[from] !== undefined)).toEqual([]);
});

test('the way through a sidecar goes forward only: doors → engine, upstream → base; what puts it together may use all', () => {
  const may: Readonly<Record<string, readonly string[]>> = {
    base: [],
    'engine/json': ['base'],
    'engine/decide': [],
    'engine/compile': ['engine/decide', 'engine/limits', 'engine/snapshot'],
    'engine/redact': ['base'],
    'engine/limits': ['base', 'engine/decide'],
    'engine/snapshot': ['base', 'engine/decide', 'engine/redact'],
    'engine/spool': ['base'],
    'engine/ship': ['base', 'engine/spool'],
    'engine/govern': ['base', 'engine/decide', 'engine/limits', 'engine/redact', 'engine/snapshot', 'engine/spool'],
    'engine/link/tls': ['base'],
    'engine/link': ['base', 'engine/link/tls', 'engine/decide', 'engine/limits', 'engine/snapshot'],
    engine: ['base'],
    telemetry: ['base', 'engine/decide', 'engine/govern'],
    upstream: ['base', 'engine/decide', 'engine/json'],
    doors: ['base', 'engine', 'telemetry', 'upstream'],
  };
  for (const [folder, allowed] of Object.entries(may)) {
    const paths = [...allowed, folder].map((name) => `sidecar/${name}`);
    expect(breaches(inFolder(`sidecar/${folder}`), ({ file }) => file === null || within(file, 'proto', ...paths))).toEqual([]);
  }
});

test('the roots of the packages hold one entry file', () => {
  for (const [folder, entry] of [
    ['sidecar', ['index.ts']],
    ['control-plane', []],
  ] as const)
    expect(readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts'))).toEqual(entry);
});

test('what puts a sidecar together is known to its entry points only', () => {
  const may = ['sidecar/index.ts', 'sidecar/app/main.ts'];
  expect(breaches(inFolder('sidecar'), ({ file }, { path }) => file !== 'sidecar/app/start.ts' || may.includes(path))).toEqual([]);
});

/** Of a path in the control plane: the part that it belongs to, which says what it may import. */
function partOf(path: string): string {
  const [, ...names] = path.split('/');
  const [top = '', second = ''] = names;
  if (path === 'control-plane/access/operation.ts') return 'operations';
  if (path === 'control-plane/access/issuer.ts') return 'issuer';
  if (top === 'database') return second === 'operations' ? 'operations' : 'store';
  if (top === 'publish') return second === 'store' ? 'store' : 'publish';
  if (!nouns.includes(top)) return top;
  const kind = second.replace(/\.ts$/, '');
  if (['rules', 'store', 'operations', 'routes', 'evaluate', 'export'].includes(kind)) return kind;
  return top === 'certificates' ? `certificates/${kind}` : top;
}

test('the way through the control plane goes forward only: routes → operations → rules, store', () => {
  const may: Readonly<Record<string, readonly string[]>> = {
    base: [],
    chain: [],
    rules: ['chain', 'base'],
    compile: ['rules', 'base'],
    evaluate: ['rules', 'compile', 'base'],
    store: ['chain', 'rules', 'compile', 'evaluate', 'base'],
    publish: ['compile', 'rules', 'base'],
    issuer: ['rules', 'base'],
    'certificates/x509': ['base'],
    'certificates/tls': ['certificates/x509', 'base'],
    'certificates/https-server': ['certificates/x509', 'base'],
    'certificates/enrol': ['operations', 'rules', 'base', 'certificates/https-server', 'certificates/tls', 'certificates/x509', 'injector'],
    export: ['chain', 'rules', 'base', 'store', 'operations'],
    inject: ['base'],
    injector: ['inject', 'rules', 'certificates/x509', 'certificates/https-server', 'base'],
    runs: ['rules', 'compile', 'publish', 'base'],
    operations: ['chain', 'rules', 'compile', 'evaluate', 'store', 'publish', 'runs', 'certificates/x509', 'base'],
    routes: ['operations', 'rules', 'evaluate', 'http', 'base'],
    http: ['routes', 'operations', 'rules', 'base'],
    grpc: ['operations', 'rules', 'compile', 'publish', 'base'],
    // It speaks REST; of the control plane it has its commands on the database, and what checks an export of the log without one; and what
    // puts sidecars into pods, which asks nobody.
    cli: ['chain', 'inject'],
  };
  const others = new Set(inFolder('control-plane').map(({ path }) => partOf(path)));
  others.delete('app');
  expect([...others].toSorted()).toEqual(Object.keys(may).toSorted());
  const entries = ['main.ts', 'restore.ts', 'recover.ts'].map((name) => `control-plane/app/${name}`);
  const found = breaches(
    inFolder('control-plane').filter(({ path }) => partOf(path) !== 'app'),
    ({ file, typeOnly }, { path }) => {
      const part = partOf(path);
      return (
        file === null ||
        within(file, 'proto', 'sidecar/engine/compile', 'sidecar/engine/redact') ||
        (within(file, 'control-plane') && [part, ...(may[part] ?? [])].includes(partOf(file))) ||
        // What is read of a workspace is a type of the publisher's too.
        (part === 'publish' && typeOnly && partOf(file) === 'store') ||
        (part === 'http' && typeOnly && file === 'control-plane/app/config.ts') ||
        (part === 'cli' && entries.includes(file)) ||
        (part === 'cli' && file === 'sidecar/doors/coding-agents/index.ts') ||
        (part === 'runs' && typeOnly && file === 'sidecar/telemetry/index.ts') ||
        (['runs', 'operations'].includes(part) && file === 'sidecar/engine/index.ts') ||
        (part === 'runs' && file === 'sidecar/upstream/index.ts') ||
        (['http', 'routes'].includes(part) && file === 'sidecar/doors/hooks/index.ts') ||
        (within(path, 'control-plane/hooks/operations') && file === 'sidecar/doors/hooks/index.ts')
      );
    },
  );
  expect(found).toEqual([]);
});

test('what puts a control plane together is known to nothing but its commands', () => {
  const known = inFolder('control-plane').filter(({ path }) => partOf(path) !== 'app');
  expect(
    breaches(known, ({ file, typeOnly }, { path }) => typeOnly || !within(file, 'control-plane/app') || partOf(path) === 'cli'),
  ).toEqual([]);
});

const operations = (): readonly Source[] => inFolder('control-plane').filter(({ path }) => partOf(path) === 'operations');

test('an operation that reads takes nothing of the store that changes it', () => {
  const changes = /^(?:insert|update|delete|write|raise|request|move|advance|copy|revoke|make|drop|lock)(?:[A-Z]|$)/;
  const readers = operations().filter(({ code }) => /\breadOperation\(/.test(code) && !/\b(?:write|effect)Operation\(/.test(code));
  expect(readers.length).toBeGreaterThan(10);
  const taken = readers.flatMap(({ path, imports }) =>
    imports
      .filter(({ file, typeOnly }) => !typeOnly && within(file, 'control-plane') && partOf(file ?? '') === 'store')
      .flatMap(({ names }) => names.filter((name) => changes.test(name)).map((name) => `${path}: ${name}`)),
  );
  expect(taken).toEqual([]);
});

test('the verbs of runs have the folder to themselves: the books and the signs of life have theirs', () => {
  const parts = inFolder('control-plane/runs/operations').filter(
    ({ path, code }) => dirname(path) === 'control-plane/runs/operations' && !/\b(?:read|effect|write)Operation\(/.test(code),
  );
  expect(parts.map(({ path }) => path)).toEqual([]);
});

test('SQL is spoken in store, and transactions begin in operations', () => {
  const speaks = [...sources.values()].filter(
    ({ path, imports }) =>
      !(within(path, 'control-plane') && partOf(path) === 'store') &&
      // It knows which errors of the driver are an outage.
      path !== 'control-plane/base/unavailable.ts' &&
      imports.some(({ from, typeOnly }) => /^pg(?:-|$)/.test(from) && !typeOnly),
  );
  expect(speaks.map(({ path }) => path)).toEqual([]);
  const begins = [...sources.values()].filter(
    ({ code, path }) =>
      /\binTransaction\(/.test(code) && !(within(path, 'control-plane') && ['operations', 'store', 'export'].includes(partOf(path))),
  );
  expect(begins.map(({ path }) => path)).toEqual([]);
});

test('the environment is read in the main files only', () => {
  // PostgreSQL is started with a clean environment, of which PATH alone is ours.
  const passesPathOn = 'control-plane/database/embedded/account.ts';
  const readers = [...sources.values()].filter(({ code }) => /\bprocess\.env\b/.test(code)).map(({ path }) => path);
  expect(
    readers.filter((path) => path !== passesPathOn && !/^(?:sidecar|control-plane)\/(?:app\/|cli\/)?(?:hook-)?main\.ts$/.test(path)),
  ).toEqual([]);
  expect(readers).toContain('sidecar/app/main.ts');
});

test('fastify is for http and the gateway of the process, grpc-js for sync, grpc and proto, openid-client for oidc, opentelemetry for telemetry', () => {
  const users = (name: RegExp, ...folders: readonly string[]): readonly string[] =>
    [...sources.values()]
      .filter(({ path, imports }) => imports.some(({ from, typeOnly }) => name.test(from) && !typeOnly) && !within(path, ...folders))
      .map(({ path }) => path);
  expect(users(/^@?fastify/, 'control-plane/http', 'sidecar/doors')).toEqual([]);
  expect(
    users(
      /^@grpc\//,
      'control-plane/grpc',
      'control-plane/base/errors.ts',
      'sidecar/engine/link',
      'sidecar/engine/ship',
      'sidecar/doors/mesh',
      'proto',
    ),
  ).toEqual([]);
  expect(users(/^openid-client$/, 'control-plane/access')).toEqual([]);
  expect(users(/^@opentelemetry\//, 'sidecar/telemetry')).toEqual([]);
  expect(users(/^pino$/, 'control-plane/app/main.ts', 'sidecar/app/main.ts', 'control-plane/cli')).toEqual([]);
});

/** The files that importing one loads, and the modules from elsewhere; `late`: also what is loaded once it runs. */
function loadedBy(path: string, late = true): { readonly files: ReadonlySet<string>; readonly modules: ReadonlySet<string> } {
  const files = new Set<string>();
  const modules = new Set<string>();
  const visit = (one: string): void => {
    if (files.has(one)) return;
    files.add(one);
    for (const { file, from, typeOnly, isLate } of sources.get(one)?.imports ?? []) {
      if (typeOnly || (isLate && !late)) continue;
      if (file === null) modules.add(from);
      else visit(file);
    }
  };
  visit(path);
  return { files, modules };
}

test('the library loads no HTTP server, no metrics, no logger, and of packages only what it needs', () => {
  const { files, modules } = loadedBy('sidecar/index.ts');
  expect(files.has('sidecar/doors/library/library.ts')).toBe(true);
  expect(
    [...files].filter((path) =>
      ['sidecar/doors/server.ts', 'sidecar/doors/hooks/hooks.ts', 'sidecar/app/main.ts', 'sidecar/app/metrics/sidecar.ts'].includes(path),
    ),
  ).toEqual([]);
  expect([...modules].filter((name) => !name.startsWith('node:')).toSorted()).toEqual([
    '@grpc/grpc-js',
    '@grpc/proto-loader',
    'libphonenumber-js/max/metadata',
    'lru-cache',
    're2js',
    'validator/lib/isIBAN.js',
    'validator/lib/isIdentityCard.js',
    'validator/lib/isTaxID.js',
  ]);
  // Whoever enrols loads a client of HTTPS for it.
  const atOnce = loadedBy('sidecar/index.ts', false).modules;
  expect([...atOnce].filter((name) => /^node:(?:http|http2|https)$/.test(name))).toEqual([]);
});

test('a process that tells no collector of anything loads nothing of OpenTelemetry; one that does finds it', () => {
  for (const path of ['sidecar/app/main.ts', 'control-plane/app/main.ts']) {
    const sdk = (late: boolean): readonly string[] =>
      [...loadedBy(path, late).modules].filter((name) => name.startsWith('@opentelemetry/'));
    expect(sdk(false)).toEqual([]);
    expect(sdk(true).length).toBeGreaterThan(5);
  }
});

test('what the control plane takes of the hook endpoint brings no server, no metrics and no logger of its own', () => {
  const { files, modules } = loadedBy('sidecar/doors/hooks/index.ts');
  expect(files.has('sidecar/doors/hooks/hooks.ts')).toBe(true);
  expect([...modules].filter((name) => /^(?:fastify|@fastify\/.*|prom-client|pino|@modelcontextprotocol\/.*)$/.test(name))).toEqual([]);
  expect([...files].filter((path) => ['sidecar/app/start.ts', 'sidecar/app/main.ts', 'sidecar/doors/server.ts'].includes(path))).toEqual(
    [],
  );
});

test('what the control plane takes of the evaluator loads nothing that listens, connects or writes', () => {
  const { modules } = loadedBy('sidecar/engine/compile/index.ts');
  expect([...modules].toSorted()).toEqual(['lru-cache', 'node:crypto', 'node:net', 're2js']);
});

test('what the control plane takes of the way to tool servers loads no server, no metrics, no logger and no MCP client', () => {
  const { files, modules } = loadedBy('sidecar/upstream/index.ts');
  expect(files.has('sidecar/upstream/program.ts')).toBe(true);
  expect([...modules].filter((name) => !name.startsWith('node:') && name !== 'lru-cache')).toEqual(['undici']);
});

test('runs start programs of tool servers, and connect to tool servers, by sidecar/upstream only', () => {
  const own = /^(?:node:(?:child_process|dns|dns\/promises|net|http|https|tls)|undici|@modelcontextprotocol\/client\/stdio)$/;
  expect(breaches(inFolder('control-plane/runs/mcp'), ({ from }) => !own.test(from))).toEqual([]);
});

test('what a host starts for every call loads nothing but Node and the words of the hosts', () => {
  const { files, modules } = loadedBy('control-plane/cli/hook-main.ts');
  expect([...modules].filter((name) => !name.startsWith('node:') && name !== '@tollgate/sidecar/hosts')).toEqual([]);
  const ours = [
    'control-plane/cli/hook-main.ts',
    'control-plane/cli/commands/hook.ts',
    'control-plane/cli/hooks/connection.ts',
    'control-plane/cli/hooks/paths.ts',
  ];
  expect([...files].filter((path) => !within(path, 'sidecar/doors/coding-agents', ...ours))).toEqual([]);
});

/** Each circle of imports once, as the way round it. */
function circles(of: readonly string[], follows: (one: Import) => boolean): readonly string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      cycles.push([...trail.slice(at), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const one of sources.get(path)?.imports ?? []) if (one.file !== null && follows(one)) visit(one.file, [...trail, path]);
    done.add(path);
  };
  for (const path of of) visit(path, []);
  return cycles;
}

test('nothing imports in a circle', () => {
  expect(circles([...sources.keys()], ({ typeOnly }) => !typeOnly)).toEqual([]);
});

test('what governs a call, and each door, knows no circle of types either', () => {
  const paths = [...inFolder('sidecar/engine/govern'), ...inFolder('sidecar/doors')].map(({ path }) => path);
  expect(circles(paths, ({ file }) => within(file, 'sidecar/engine/govern', 'sidecar/doors'))).toEqual([]);
});

test('what the doors share knows no door', () => {
  const doors = ['hooks', 'coding-agents', 'http', 'library', 'mcp', 'mesh'].map((name) => `sidecar/doors/${name}`);
  // `server.ts` puts them together.
  const shared = inFolder('sidecar/doors').filter(({ path }) => !within(path, ...doors, 'sidecar/doors/server.ts'));
  expect(breaches(shared, ({ file, typeOnly }) => typeOnly || !within(file, ...doors))).toEqual([]);
});

const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

test('the list of reasons is closed: each is given by some line, and no line gives another', () => {
  const text = [...sources.keys()]
    .filter((path) => within(path, 'sidecar', 'control-plane'))
    .map(textOf)
    .join('\n');
  const denials = Object.keys(reasons).filter((code) => code !== 'allowed');
  expect(denials.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  const given = [...text.matchAll(/\brefuse\(\s*(?:\d+,\s*)?'([a-z_]+)'/g)].map(([, code]) => code);
  expect(given.length).toBeGreaterThan(15);
  expect(given.filter((code) => code === undefined || !Object.hasOwn(reasons, code))).toEqual([]);
});

test('documents that list the reasons list them all', () => {
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => `docs/${name}`),
  ];
  const codes = Object.keys(reasons).filter((code) => code !== 'allowed');
  for (const path of documents.filter(exists)) {
    const named = codes.filter((code) => textOf(path).includes(`\`${code}\``));
    // A page that mentions one or two in passing is no list.
    if (named.length > codes.length / 2)
      expect({ path, missing: codes.filter((code) => !named.includes(code)) }).toEqual({ path, missing: [] });
  }
});

function exists(path: string): boolean {
  try {
    return textOf(path).length > 0;
  } catch {
    return false;
  }
}
