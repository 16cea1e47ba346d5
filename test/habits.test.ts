// Checks that tests do not wait for time to pass and set no time limits on what they test. Such a test fails on a busy
// machine, and the failure then says nothing about the code.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('.', import.meta.url));
/** In these folders time is measured on purpose, or work is counted per interval. */
const measuring = /^(?:long|bench|measure)\//;

const sleeps: readonly RegExp[] = [
  /import \{[^}]*\b(?:setTimeout|setInterval|scheduler)\b[^}]*\} from '(?:node:)?timers(?:\/promises)?'/,
  /import (?:\* as )?\w+ from '(?:node:)?timers(?:\/promises)?'|\b(?:import|require)\('(?:node:)?timers(?:\/promises)?'\)/,
  /(?<![\w'"])setTimeout\(/,
  // An interval that samples or repeats is stored in a variable, to be cleared. One without a variable is in the text
  // of a program that must stay alive.
  /= setInterval\(/,
  /\bpromisify\((?:\w+\.)?setTimeout\b/,
  /\bAtomics\.wait(?:Async)?\(|\bscheduler\.wait\(|\bpg_sleep/,
  /\b(?:exec|spawn|execFile)Sync\(\s*['"`]sleep\b/,
];
const measures: readonly RegExp[] = [
  // A clock that is passed as a function, `() => performance.now()`, measures nothing.
  /(?<!=> )\bperformance\.now\(\)/,
  /\bhrtime\b|\bcpuUsage\(/,
  /\bexpect\([^;]*?\bDate\.now\(\)/,
  // `Date.now() - hourMs` is a point in time, `Date.now() - startedAt` is a duration.
  /\bDate\.now\(\) - (?!\w*Ms\b)[a-z]/i,
  // The same duration through two variables, whatever their names are.
  /\b(?:const|let) (\w+) = (?:Date\.now\(\)|\+?new Date\(\))(?=;)(?=[\s\S]*?\b(?:const|let) (\w+) = (?:Date\.now\(\)|\+?new Date\(\));[\s\S]*?\b\2 - \1\b)/,
  /\bnew Date\(\)(?:\.getTime\(\)|\.valueOf\(\)) - (?!\w*Ms\b)[a-z]/i,
  /\+ ?new Date\(\) - (?!\w*Ms\b)[a-z]/i,
  /\bprocess\.uptime\(\)/,
];

/** For each file, the reason why it may sleep. */
const maySleep: Readonly<Record<string, string>> = {
  'support/programs.ts': '`eventually`, by which all others wait for what has no event',
  'chaos/world.ts': 'gives up a request that is never answered',
  'chaos/load.ts': 'a load that pauses between two requests',
  'chaos/waiting-runs-killed.test.ts': 'kills that meet a step some milliseconds later',
  'chaos/approvals-killed.test.ts': 'kills that meet a step some milliseconds later, and callers that pause between two requests',
  'chaos/busy.ts': 'a load that pauses between two requests',
  'chaos/gate.ts': 'a connection that is slow',
  'chaos/kills/calls.ts': 'a load that pauses between two requests',
  'chaos/kills/writes.ts': 'a load that pauses between two requests, and gives up what is never answered',
  'chaos/kills/faults.ts': 'faults that last for as long as their plan says',
  'chaos/kills/healing.ts': 'a control plane that is away for a while, and what has no event',
  'chaos/kills/supervised.ts': 'a supervisor that starts a program again after a pause',
  'console/live-tail.test.ts': 'paces the calls of `npm run test:long -- tail`; without a rate it makes them at once',
  'conformance/server/tools.ts': 'tools of the official suite that take time',
  'control-plane/tool-servers.test.ts': 'a server that speaks again and again and never answers',
  'readme/end-programs.ts': 'programs that are asked to end, and then killed',
  'runs/toolbox.test.ts': 'a server that speaks again and again and never answers, and samples of memory',
  'readme/shell.ts': 'gives up a block of a page that never ends',
};
const mayMeasure: Readonly<Record<string, string>> = {
  'chaos/gate.ts': 'a connection that is slow, by a clock',
  'chaos/kills/faults.ts': 'the journal says when each fault was',
  'chaos/kills/healing.ts': 'reported, and held to what is promised by `npm run test:chaos` alone',
  'chaos/kills/run.ts': 'reported',
  'console/live-tail.test.ts': 'paces the calls of `npm run test:long -- tail`',
  'readme/end-programs.ts': 'programs that are asked to end, and then killed',
  'readme/run-page.ts': 'reported',
};

/** Does not follow links: test/frameworks has one to what it installs. */
const filesIn = (within: string): readonly string[] =>
  readdirSync(`${folder}${within}`, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? filesIn(`${within}${entry.name}/`) : [within + entry.name],
  );

const sources = filesIn('')
  .filter((path) => path.endsWith('.ts') && !measuring.test(path) && path !== 'habits.test.ts')
  .map((path) => ({ path, text: readFileSync(`${folder}${path}`, 'utf8') }));

/** Returns the line number of each match. */
const found = (patterns: readonly RegExp[], text: string): readonly number[] =>
  patterns
    .flatMap((pattern) => [...text.matchAll(new RegExp(pattern, 'g'))].map(({ index }) => text.slice(0, index).split('\n').length))
    .toSorted((a, b) => a - b);

const offending = (patterns: readonly RegExp[], allowed: Readonly<Record<string, string>>): readonly string[] =>
  sources.flatMap(({ path, text }) => (path in allowed ? [] : found(patterns, text).map((line) => `test/${path}:${line}`)));

test('no test waits for time to pass: it awaits the event, moves a clock (support/manual-clock.ts), or uses `eventually`', () => {
  expect(offending(sleeps, maySleep)).toEqual([]);
});

test('no test measures time: it counts work or moves a clock; a promise about real time is tested in test/long', () => {
  expect(offending(measures, mayMeasure)).toEqual([]);
});

test.each([
  ['sleep', sleeps, maySleep],
  ['measure', measures, mayMeasure],
] as const)('each file on the list of files that may %s still does', (_what, patterns, allowed) => {
  const needed = sources.filter(({ text }) => found(patterns, text).length > 0).map(({ path }) => path);
  expect(Object.keys(allowed).filter((path) => !needed.includes(path))).toEqual([]);
});

test.each([
  "import { setTimeout as delay } from 'node:timers/promises';",
  'await new Promise((done) => setTimeout(done, 50));',
  'await new Promise((done) => void globalThis.setTimeout(done, 50));',
  "import { setTimeout as delay } from 'timers/promises';",
  "import * as timers from 'node:timers/promises';",
  "import timers from 'timers/promises';",
  "const { setTimeout: delay } = await import('node:timers/promises');",
  'const delay = promisify(setTimeout);',
  'Atomics.wait(cell, 0, 0, 50);',
  'await scheduler.wait(50);',
  "await pool.query('SELECT pg_sleep(1)');",
  'const timer = setInterval(() => ask(), 50);',
  "execFileSync('sleep', ['1']);",
])('the check finds the sleep %s', (line) => {
  expect(found(sleeps, line)).toHaveLength(1);
});

test.each([
  'const startedAt = performance.now();',
  'expect(process.cpuUsage(startedAt).user).toBeLessThan(1_000);',
  'const ms = Date.now() - startedAt;',
  'expect(Date.parse(at) - Date.now()).toBeLessThan(1_000);',
  'const a = Date.now();\nawait call();\nconst ms = Date.now() - a;',
  'const a = Date.now();\nawait call();\nconst b = Date.now();\nexpect(b - a).toBeLessThan(50);',
  'const ms = new Date().getTime() - began;',
  'const ms = +new Date() - began;',
  'const seconds = process.uptime();',
])('the check finds the measurement %s', (line) => {
  expect(found(measures, line)).toHaveLength(1);
});

test('the check ignores clocks that are passed as functions, fake timers and points in time', () => {
  const text = [
    "vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });",
    'const clock = { now: () => performance.now() };',
    "import { setImmediate as turn } from 'node:timers/promises';",
    "const child = spawn(node, ['-e', 'setInterval(() => {}, 1000)']);",
    'const a = Date.now();\nconst b = Date.now();\nexpect(b).toBeGreaterThanOrEqual(a - 1_000);',
    'const validity = { from: new Date(Date.now() - 60_000), until: new Date(Date.now() - hourMs) };',
  ].join('\n');
  expect([...found(sleeps, text), ...found(measures, text)]).toEqual([]);
});
