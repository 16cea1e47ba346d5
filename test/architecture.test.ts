// Checks which modules may import which others, which modules are pure, and what importing a module loads. The imports
// are read from the sources.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasons } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Maps the import name of each package to its entry file in the sources. */
const entries: Readonly<Record<string, string>> = {
  '@tollgate/proto': 'proto/index.ts',
  '@tollgate/proto/contract': 'proto/contract/index.ts',
  '@tollgate/proto/chain': 'proto/chain/index.ts',
  '@tollgate/proto/hosts': 'proto/hosts/index.ts',
  '@tollgate/proto/mesh': 'proto/mesh.ts',
  '@tollgate/proto/shape': 'proto/contract/shape.ts',
  '@tollgate/cli': 'cli/index.ts',
  '@tollgate/inject': 'deploy/inject/index.ts',
  '@tollgate/sidecar': 'sidecar/index.ts',
  '@tollgate/sidecar/engine/compile': 'sidecar/engine/compile/index.ts',
  '@tollgate/sidecar/engine': 'sidecar/engine/index.ts',
  '@tollgate/sidecar/hooks': 'sidecar/doors/hooks/index.ts',
  '@tollgate/sidecar/engine/redact': 'sidecar/engine/redact/index.ts',
  '@tollgate/sidecar/telemetry': 'sidecar/telemetry/index.ts',
  '@tollgate/sidecar/upstream': 'sidecar/upstream/index.ts',
};

interface Import {
  /** The module specifier, as written in the source. */
  readonly from: string;
  /** The path, from the root, of a source file of this repository. Null for a package or a Node module. */
  readonly file: string | null;
  /** True for `import type` and for an import of types only: it loads nothing. */
  readonly typeOnly: boolean;
  /** True for an import inside a function: it loads when that function runs. */
  readonly isLate: boolean;
  /** The names that are imported. */
  readonly names: readonly string[];
}

interface Source {
  readonly path: string;
  /** The source without comments and with the content of quoted strings removed. */
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
  ['proto', 'sidecar', 'deploy/inject', 'cli', 'control-plane'].flatMap(filesIn).map((path) => [path, readSource(path)]),
);

const inFolder = (folder: string): readonly Source[] => [...sources.values()].filter(({ path }) => path.startsWith(`${folder}/`));

/** Returns `from → to` for every import of these sources that `allowed` rejects. */
function breaches(of: readonly Source[], allowed: (one: Import, source: Source) => boolean): readonly string[] {
  expect(of.length).toBeGreaterThan(0);
  return of.flatMap((source) =>
    source.imports.filter((one) => !allowed(one, source)).map(({ from, file }) => `${source.path} → ${file ?? from}`),
  );
}

const within = (file: string | null, ...folders: readonly string[]): boolean =>
  file !== null && folders.some((folder) => file === folder || file.startsWith(`${folder}/`));

test('the test finds the imports', () => {
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

/** The folders of the control plane that each have rules, store, operations and routes. */
const nouns = [
  'access',
  'agents',
  'approvals',
  'audit',
  'certificates',
  'channels',
  'hooks',
  'policies',
  'quota',
  'runs',
  'sidecars',
  'statistics',
  'tool-servers',
  'workspaces',
];

const pureFolders = [
  'sidecar/engine/compile',
  'sidecar/engine/conditions',
  'sidecar/engine/decide',
  'sidecar/engine/limits',
  'sidecar/engine/redact',
  'sidecar/upstream/wire',
  'control-plane/policies/evaluate',
  ...['access', 'agents', 'approvals', 'audit', 'channels', 'policies', 'quota', 'runs', 'sidecars', 'statistics', 'tool-servers'].map(
    (noun) => `control-plane/${noun}/rules`,
  ),
  'proto/chain',
  'proto/hosts',
  'deploy/inject',
  'proto/contract',
];
/** Pure files in folders that also hold impure files. */
const pureFiles = [
  'sidecar/engine/snapshot/verify.ts',
  'control-plane/workspaces/rules.ts',
  ...['clean-json', 'instant', 'network', 'page', 'refusal', 'schema-words'].map((name) => `control-plane/base/${name}.ts`),
];
/** What a pure module may import from Node and from packages: only functions of their arguments. */
const pureImports: Readonly<Record<string, readonly string[]>> = {
  // The caller passes the time. The price data is in the package, and the code never fetches newer data.
  '@pydantic/genai-prices': ['calcPrice', 'findProvider', 'ModelInfo', 'ModelPrice'],
  // Parsers of texts, which are loaded when the first text is read.
  '@bufbuild/cel': [],
  unbash: [],
  'node:buffer': ['isUtf8'],
  'node:crypto': ['createHash', 'createPublicKey', 'hash', 'KeyObject', 'timingSafeEqual', 'verify'],
  'node:module': ['createRequire'],
  'node:net': ['BlockList', 'isIP'],
  'node:util': ['isDeepStrictEqual'],
  'eventsource-parser': ['createParser'],
  'lru-cache': ['LRUCache'],
  re2js: ['MatcherInput', 'RE2JS', 'RE2JSException'],
  'libphonenumber-js/max/metadata': ['default'],
  'validator/lib/isIBAN.js': ['default'],
  'validator/lib/isIdentityCard.js': ['default'],
  'validator/lib/isTaxID.js': ['default'],
};

test.each(pureFolders)('%s is pure: from modules it imports only functions of their arguments', (folder) => {
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

test.each(pureFolders)('%s is pure: it uses no clock, no randomness, no environment, no log and nothing asynchronous', (folder) => {
  const found = [...inFolder(folder), ...[...sources.values()].filter(({ path }) => pureFiles.includes(path))].flatMap(({ path, code }) =>
    impure.filter(([, pattern]) => pattern.test(code)).map(([what]) => `${path}: ${what}`),
  );
  expect(found).toEqual([]);
});

test('decide imports nothing from the rest of the sidecar except conditions', () => {
  const allowed = ({ file, from }: Import): boolean =>
    within(file, 'sidecar/engine/decide', 'sidecar/engine/conditions', 'proto/contract') || from === 'lru-cache';
  expect(breaches(inFolder('sidecar/engine/decide'), allowed)).toEqual([]);
});

test('the contract imports nothing from outside itself, and the rest of proto imports only the contract', () => {
  expect(breaches(inFolder('proto/contract'), ({ file, from }) => within(file, 'proto/contract') || from.startsWith('node:'))).toEqual([]);
  expect(
    breaches(inFolder('proto/chain'), ({ file, from }) => within(file, 'proto/chain', 'proto/contract') || from === 'node:crypto'),
  ).toEqual([]);
  // `tollgate hook` loads it at each call: it imports no value of the contract.
  expect(
    breaches(inFolder('proto/hosts'), ({ file, typeOnly }) => within(file, 'proto/hosts') || (typeOnly && within(file, 'proto/contract'))),
  ).toEqual([]);
  expect(breaches(inFolder('proto'), ({ file }) => file === null || within(file, 'proto'))).toEqual([]);
});

test('injection imports only the contract', () => {
  expect(
    breaches(inFolder('deploy/inject'), ({ file, from }) => within(file, 'deploy/inject', 'proto/contract') || from === 'node:util'),
  ).toEqual([]);
  const importers = [...sources.values()].filter(({ path }) => !within(path, 'deploy/inject'));
  expect(breaches(importers, ({ file }) => !within(file, 'deploy/inject') || file === 'deploy/inject/index.ts')).toEqual([]);
});

test('the sidecar imports nothing from the control plane, from the command line or from deploy', () => {
  expect(
    breaches(inFolder('sidecar'), ({ file, from }) => !within(file, 'control-plane', 'cli', 'deploy') && !from.includes('control-plane')),
  ).toEqual([]);
});

test('the command line imports only the contract, the chain, the formats of hosts and injection, and for tests of policies late the compiler', () => {
  const may = ['cli', 'proto/contract', 'proto/chain', 'proto/hosts', 'deploy/inject'];
  // The compiler is a package that need not be installed.
  const testsPolicies = ({ file, typeOnly, isLate }: Import, { path }: Source): boolean =>
    path === 'cli/policies/run-tests.ts' && (typeOnly || isLate) && file === 'sidecar/engine/compile/index.ts';
  const allowed = (one: Import, source: Source): boolean =>
    (one.file === null ? !one.from.startsWith('@tollgate/') : within(one.file, ...may)) || testsPolicies(one, source);
  expect(breaches(inFolder('cli'), allowed)).toEqual([]);
});

test('the control plane imports the command line only for its own program, through the entry point', () => {
  expect(
    breaches(
      inFolder('control-plane'),
      ({ file }, { path }) => !within(file, 'cli') || (file === 'cli/index.ts' && within(path, 'control-plane/app')),
    ),
  ).toEqual([]);
});

test('the control plane imports the sidecar only through its entry points', () => {
  expect(breaches(inFolder('control-plane'), ({ file, from }) => !within(file, 'sidecar') || entries[from] !== undefined)).toEqual([]);
});

test('imports in the sidecar go in one direction: doors → engine, upstream → base; only the composition code may import all of them', () => {
  const may: Readonly<Record<string, readonly string[]>> = {
    base: [],
    'engine/json': ['base'],
    'engine/conditions': ['engine/json'],
    'engine/decide': ['engine/conditions'],
    'engine/compile': ['engine/conditions', 'engine/decide', 'engine/limits', 'engine/redact', 'engine/snapshot'],
    'engine/redact': ['base'],
    'engine/limits': ['base', 'engine/decide'],
    'engine/snapshot': ['base', 'engine/conditions', 'engine/decide', 'engine/redact'],
    'engine/spool': ['base'],
    'engine/ship': ['base', 'engine/spool'],
    'engine/approvals': ['base', 'engine/decide', 'engine/redact'],
    'engine/govern': [
      'base',
      'engine/approvals',
      'engine/conditions',
      'engine/decide',
      'engine/json',
      'engine/limits',
      'engine/redact',
      'engine/snapshot',
      'engine/spool',
    ],
    'engine/link/tls': ['base'],
    'engine/link': ['base', 'engine/approvals', 'engine/link/tls', 'engine/decide', 'engine/limits', 'engine/snapshot'],
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

test('a sidecar receives entries: nothing else in it imports the compiler or the shapes of documents', () => {
  const others = inFolder('sidecar').filter(({ path }) => !within(path, 'sidecar/engine/compile'));
  expect(breaches(others, ({ file }) => !within(file, 'sidecar/engine/compile', 'proto/contract/shape.ts'))).toEqual([]);
});

test('the root folder of each package holds at most its entry file', () => {
  for (const [folder, entry] of [
    ['sidecar', ['index.ts']],
    ['control-plane', []],
  ] as const)
    expect(readdirSync(join(root, folder)).filter((name) => name.endsWith('.ts'))).toEqual(entry);
});

test('only the entry points of the sidecar import the code that composes it', () => {
  const may = ['sidecar/index.ts', 'sidecar/app/main.ts'];
  expect(breaches(inFolder('sidecar'), ({ file }, { path }) => file !== 'sidecar/app/start.ts' || may.includes(path))).toEqual([]);
});

/** Returns the part that a path in the control plane belongs to. The part decides what the file may import. */
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

test('imports in the control plane go in one direction: routes → operations → rules, store', () => {
  const may: Readonly<Record<string, readonly string[]>> = {
    base: [],
    rules: ['base'],
    evaluate: ['rules', 'base'],
    store: ['rules', 'evaluate', 'base'],
    publish: ['rules', 'base'],
    issuer: ['rules', 'base'],
    'certificates/x509': ['base'],
    'certificates/tls': ['certificates/x509', 'base'],
    'certificates/https-server': ['certificates/x509', 'base'],
    'certificates/enrol': ['operations', 'rules', 'base', 'certificates/https-server', 'certificates/tls', 'certificates/x509', 'injector'],
    export: ['rules', 'base', 'store', 'operations'],
    injector: ['rules', 'certificates/x509', 'certificates/https-server', 'base'],
    runs: ['rules', 'publish', 'base'],
    operations: ['rules', 'evaluate', 'store', 'publish', 'runs', 'certificates/x509', 'base'],
    routes: ['operations', 'rules', 'evaluate', 'http', 'base'],
    http: ['routes', 'operations', 'rules', 'base'],
    grpc: ['operations', 'rules', 'publish', 'base'],
  };
  const others = new Set(inFolder('control-plane').map(({ path }) => partOf(path)));
  others.delete('app');
  expect([...others].toSorted()).toEqual(Object.keys(may).toSorted());
  const found = breaches(
    inFolder('control-plane').filter(({ path }) => partOf(path) !== 'app'),
    ({ file, typeOnly }, { path }) => {
      const part = partOf(path);
      return (
        file === null ||
        within(file, 'proto', 'sidecar/engine/compile', 'sidecar/engine/redact') ||
        (within(file, 'control-plane') && [part, ...(may[part] ?? [])].includes(partOf(file))) ||
        // The type of what is read from a workspace is also a type of the publisher.
        (part === 'publish' && typeOnly && partOf(file) === 'store') ||
        (part === 'injector' && file === 'deploy/inject/index.ts') ||
        (part === 'http' && typeOnly && file === 'control-plane/app/config.ts') ||
        (part === 'runs' && typeOnly && file === 'sidecar/telemetry/index.ts') ||
        (['runs', 'operations'].includes(part) && file === 'sidecar/engine/index.ts') ||
        (part === 'runs' && file === 'sidecar/upstream/index.ts') ||
        // Messages reach addresses that a workspace chose, so they are sent as to tool servers.
        (['send.ts', 'deliver.ts'].some((name) => path === `control-plane/channels/operations/${name}`) &&
          file === 'sidecar/upstream/index.ts') ||
        (['http', 'routes'].includes(part) && file === 'sidecar/doors/hooks/index.ts') ||
        (within(path, 'control-plane/hooks/operations') && file === 'sidecar/doors/hooks/index.ts')
      );
    },
  );
  expect(found).toEqual([]);
});

test('nothing of the control plane imports the code that composes it', () => {
  const known = inFolder('control-plane').filter(({ path }) => partOf(path) !== 'app');
  expect(breaches(known, ({ file, typeOnly }) => typeOnly || !within(file, 'control-plane/app'))).toEqual([]);
});

const operations = (): readonly Source[] => inFolder('control-plane').filter(({ path }) => partOf(path) === 'operations');

test('a read operation imports no function of the store that changes data', () => {
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

test('the folder of run operations holds only operations: accounting and liveness have their own folders', () => {
  const parts = inFolder('control-plane/runs/operations').filter(
    ({ path, code }) => dirname(path) === 'control-plane/runs/operations' && !/\b(?:read|effect|write)Operation\(/.test(code),
  );
  expect(parts.map(({ path }) => path)).toEqual([]);
});

test('only store imports the SQL driver, and only operations, store and export begin transactions', () => {
  const speaks = [...sources.values()].filter(
    ({ path, imports }) =>
      !(within(path, 'control-plane') && partOf(path) === 'store') &&
      // This file knows which driver errors mean an outage.
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

test('only the main files read the environment', () => {
  // PostgreSQL starts with a clean environment, in which only PATH comes from this process.
  const passesPathOn = 'control-plane/database/embedded/account.ts';
  const readers = [...sources.values()].filter(({ code }) => /\bprocess\.env\b/.test(code)).map(({ path }) => path);
  expect(
    readers.filter((path) => path !== passesPathOn && !/^(?:sidecar\/app\/main|cli\/(?:hook-main|process-world))\.ts$/.test(path)),
  ).toEqual([]);
  expect(readers).toContain('sidecar/app/main.ts');
});

test('only the named folders import fastify (http, doors), grpc-js (grpc, link, ship, mesh, proto), openid-client (access) and opentelemetry (telemetry)', () => {
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
  expect(users(/^pino$/, 'control-plane/app/main.ts', 'sidecar/app/main.ts')).toEqual([]);
});

/**
 * Returns the files that importing `path` loads, and the modules from outside this repository. `late` includes what
 * loads only when a function runs.
 */
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

test('the library loads no HTTP server, no metrics and no logger, and only the packages that it needs', () => {
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
    'unbash',
    'validator/lib/isIBAN.js',
    'validator/lib/isIdentityCard.js',
    'validator/lib/isTaxID.js',
  ]);
  // Enrolment loads an HTTPS client when it runs.
  const atOnce = loadedBy('sidecar/index.ts', false).modules;
  expect([...atOnce].filter((name) => /^node:(?:http|http2|https)$/.test(name))).toEqual([]);
  // A condition loads the parser of lines when it reads the first line.
  expect([...atOnce].filter((name) => name === 'unbash')).toEqual([]);
});

test('a process that reports to no collector loads nothing of OpenTelemetry, and a process that reports to one can load it', () => {
  for (const path of ['sidecar/app/main.ts', 'control-plane/app/main.ts']) {
    const sdk = (late: boolean): readonly string[] =>
      [...loadedBy(path, late).modules].filter((name) => name.startsWith('@opentelemetry/'));
    expect(sdk(false)).toEqual([]);
    expect(sdk(true).length).toBeGreaterThan(5);
  }
});

test.each([
  ['sidecar/app/main.ts', ['undici', '@fastify/http-proxy'], ['sidecar/doors/http/http-tools.ts', 'sidecar/doors/mesh/mesh.ts']],
  [
    'control-plane/app/main.ts',
    [
      '@ai-sdk/anthropic',
      '@ai-sdk/anthropic/internal',
      '@ai-sdk/openai',
      '@ai-sdk/openai-compatible',
      '@modelcontextprotocol/client',
      '@scalar/fastify-api-reference',
      'graphile-worker',
      'node-pg-migrate',
      'openid-client',
      'standardwebhooks',
      'undici',
      'yaml',
    ],
    ['control-plane/access/issuer.ts', 'control-plane/audit/export/collector.ts', 'control-plane/injector/injector.ts'],
  ],
])('%s loads what is not configured, and what most processes never use, only when it is used', (path, packages, parts) => {
  const [atOnce, ever] = [loadedBy(path, false), loadedBy(path)];
  expect(packages.filter((name) => !ever.modules.has(name))).toEqual([]);
  expect(packages.filter((name) => atOnce.modules.has(name))).toEqual([]);
  expect(parts.filter((part) => !ever.files.has(part))).toEqual([]);
  expect(parts.filter((part) => atOnce.files.has(part))).toEqual([]);
});

test('what the control plane imports of the hook endpoint loads no server, no metrics and no logger', () => {
  const { files, modules } = loadedBy('sidecar/doors/hooks/index.ts');
  expect(files.has('sidecar/doors/hooks/hooks.ts')).toBe(true);
  expect([...modules].filter((name) => /^(?:fastify|@fastify\/.*|prom-client|pino|@modelcontextprotocol\/.*)$/.test(name))).toEqual([]);
  expect([...files].filter((path) => ['sidecar/app/start.ts', 'sidecar/app/main.ts', 'sidecar/doors/server.ts'].includes(path))).toEqual(
    [],
  );
});

test('what the control plane imports of the evaluator loads nothing that listens, connects or writes', () => {
  const { modules } = loadedBy('sidecar/engine/compile/index.ts');
  expect([...modules].toSorted()).toEqual([
    '@bufbuild/cel',
    'lru-cache',
    'node:crypto',
    'node:module',
    'node:net',
    'node:util',
    're2js',
    'unbash',
  ]);
});

test('the entry point of upstream loads no server, no metrics, no logger and no MCP client', () => {
  const { files, modules } = loadedBy('sidecar/upstream/index.ts');
  expect(files.has('sidecar/upstream/program.ts')).toBe(true);
  expect([...modules].filter((name) => !name.startsWith('node:') && name !== 'lru-cache').toSorted()).toEqual([
    'eventsource-parser',
    'undici',
  ]);
});

test('runs start programs of tool servers, and connect to tool servers, by sidecar/upstream only', () => {
  const own = /^(?:node:(?:child_process|dns|dns\/promises|net|http|https|tls)|undici|@modelcontextprotocol\/client\/stdio)$/;
  expect(breaches(inFolder('control-plane/runs/mcp'), ({ from }) => !own.test(from))).toEqual([]);
});

test('the program that a host starts for every call loads nothing except Node and the formats of the hosts', () => {
  const { files, modules } = loadedBy('cli/hook-main.ts');
  expect([...modules].filter((name) => !name.startsWith('node:'))).toEqual([]);
  const ours = ['cli/hook-main.ts', 'cli/commands/hook.ts', 'cli/hooks/connection.ts', 'cli/hooks/paths.ts'];
  expect([...files].filter((path) => !within(path, 'proto/hosts', ...ours))).toEqual([]);
});

test('the command line and the injector load no gRPC, which @tollgate/proto brings to neither', () => {
  const paths = [...inFolder('cli'), ...inFolder('deploy/inject')].map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(80);
  const loaded = paths.map((path) => loadedBy(path));
  expect(loaded.flatMap(({ modules }) => [...modules].filter((name) => name.startsWith('@grpc/')))).toEqual([]);
  expect(loaded.flatMap(({ files }) => [...files].filter((path) => path === 'proto/index.ts' || path === 'proto/mesh.ts'))).toEqual([]);
});

/** Import cycles of all sources, imports of types included: of each at least one path round it. */
function importCycles(): readonly string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path);
    if (at >= 0) {
      cycles.push([...trail.slice(at), path].join(' → '));
      return;
    }
    if (done.has(path)) return;
    for (const { file } of sources.get(path)?.imports ?? []) if (file !== null) visit(file, [...trail, path]);
    done.add(path);
  };
  for (const path of sources.keys()) visit(path, []);
  return cycles;
}

test('no source imports itself by a cycle, of types neither', () => {
  expect(importCycles()).toEqual([]);
});

test('the code that the doors share imports no door', () => {
  const doors = ['hooks', 'coding-agents', 'http', 'library', 'mcp', 'mesh'].map((name) => `sidecar/doors/${name}`);
  // `server.ts` composes the doors.
  const shared = inFolder('sidecar/doors').filter(({ path }) => !within(path, ...doors, 'sidecar/doors/server.ts'));
  expect(breaches(shared, ({ file, typeOnly }) => typeOnly || !within(file, ...doors))).toEqual([]);
});

const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');

test('the list of reason codes is closed: some line uses each code, and no line uses another code', () => {
  const text = [...sources.keys()]
    .filter((path) => within(path, 'sidecar', 'cli', 'control-plane'))
    .map(textOf)
    .join('\n');
  const denials = Object.keys(reasons).filter((code) => code !== 'allowed');
  expect(denials.filter((code) => !text.includes(`'${code}'`))).toEqual([]);
  const given = [...text.matchAll(/\brefuse\(\s*(?:\d+,\s*)?'([a-z_]+)'/g)].map(([, code]) => code);
  expect(given.length).toBeGreaterThan(15);
  expect(given.filter((code) => code === undefined || !Object.hasOwn(reasons, code))).toEqual([]);
});

test('documents that list the reason codes list all of them', () => {
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
    // A page that mentions only a few codes in its text is not a list.
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
