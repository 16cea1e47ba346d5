// Checks that the tests can fail. The decision tables, or a modest number of generated scenes, must find each seeded
// mistake in a copy of the decide core. They must find nothing in the copy without a mistake.
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCases } from '../support/cases.ts';
import { mapRules } from './edit.ts';
import { type Scene, sceneOf } from './generate.ts';
import { type Mutant, mutants } from './mutants.ts';
import * as reference from './reference.ts';
import * as subject from './subject.ts';
import type { Outcome, World } from './world.ts';

const root = join(import.meta.dirname, '../..');
/** The name of the copy without a mistake. */
const faithful = 'faithful';
const folder = mkdtempSync(join(tmpdir(), 'tollgate-mutants-'));
// Bare imports of the copies resolve as those of the originals do.
symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Adds overrides that a member must not write, and that must have no effect if they are there. */
const withOwnOverrides = (world: World): World => ({
  ...world,
  users: world.users.map((user) => ({ ...user, self: user.self && mapRules(user.self, (rule) => ({ ...rule, override: true })) })),
});

const tables = loadCases().map(({ world, calls }): Scene => ({ world, calls: calls.map(({ call }) => call) }));
const plain = fc.sample(sceneOf(), { numRuns: 250, seed: 20_261_120 });
const withCases = fc.sample(sceneOf({ cases: 60, audit: 10 }), { numRuns: 400, seed: 20_261_126 });
const asking = fc.sample(sceneOf({ cases: 40, ask: 25, deny: 8, audit: 15 }), { numRuns: 400, seed: 20_261_127 });
const scenes = [...plain.flatMap((scene) => [scene, { ...scene, world: withOwnOverrides(scene.world) }]), ...withCases, ...asking];

const judged = [...tables, ...scenes].map(({ world, calls }) => ({
  world,
  calls,
  message: subject.messageOf(world),
  wanted: reference.decideCalls(world, calls),
}));

/**
 * Returns whether some scene is decided differently from the reference. A scene that shows one mistake often shows
 * others too, so it is tried first from then on.
 */
function isFound(core: subject.Core): boolean {
  const at = judged.findIndex(({ world, calls, message, wanted }) => {
    const decided = attempt(() => subject.decideFrom(message, world, calls, core));
    return !isDeepStrictEqual(decided, wanted);
  });
  if (at > 0) judged.unshift(...judged.splice(at, 1));
  return at !== -1;
}

function attempt(decide: () => readonly Outcome[]): readonly Outcome[] | null {
  try {
    return decide();
  } catch {
    return null;
  }
}

const engine = join(root, 'sidecar/engine');

/** The text of each file of the decide core, by its path in `engine`. */
const texts: ReadonlyMap<string, string> = new Map(
  ['conditions', 'decide', 'json', 'limits'].flatMap((part) =>
    readdirSync(join(engine, part), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name): [string, string] => [join(part, name), readFileSync(join(engine, part, name), 'utf8')]),
  ),
);

const relativeImport = /(?<=(?:from|import\() ?')\.[^']+(?=')/g;

/** Returns the file, and all files that import it through any number of others. */
function affectedBy(file: string): ReadonlySet<string> {
  const affected = new Set([file]);
  for (const changed of affected)
    for (const [name, text] of texts)
      if ((text.match(relativeImport) ?? []).some((imported) => join(dirname(name), imported) === changed)) affected.add(name);
  return affected;
}

/**
 * Makes a copy of the decide core, with the mistake if one is given. Files that a mistake cannot affect are those of the
 * copy without a mistake: each of them is compiled only once.
 */
async function copyOfCore(name: string, mistake: Mutant | null): Promise<subject.Core> {
  const copied = mistake === null ? new Set(texts.keys()) : affectedBy(mistake.file);
  const placeOf = (file: string): string => join(folder, copied.has(file) ? name : faithful, file);
  for (const file of copied) {
    const text = texts.get(file) ?? '';
    await mkdir(dirname(placeOf(file)), { recursive: true });
    const changed = file === mistake?.file ? withMistake(text, mistake) : text;
    await writeFile(
      placeOf(file),
      changed.replace(relativeImport, (imported) => placeOf(join(dirname(file), imported))),
    );
  }
  const load = async (file: string): Promise<Partial<subject.Core>> => await import(placeOf(file));
  const parts = [
    'decide/build-index.ts',
    'decide/bind.ts',
    'decide/decide.ts',
    'limits/counters.ts',
    'limits/usage.ts',
    'conditions/values.ts',
  ];
  const { buildIndex, bindCaller, decide, createCounters, createRunUsage, Undecided } = Object.assign(
    {},
    ...(await Promise.all(parts.map(load))),
  );
  return { buildIndex, bindCaller, decide, createCounters, createRunUsage, Undecided };
}

function withMistake(text: string, { file, search, replace }: Mutant): string {
  expect(text.split(search).length - 1, `${file} holds ${JSON.stringify(search)} once`).toBe(1);
  return text.replace(search, () => replace);
}

describe('seeded mistakes in the decide core', { timeout: 120_000 }, () => {
  it('are at least twenty', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(20);
  });

  let unchanged: subject.Core;
  beforeAll(async () => {
    unchanged = await copyOfCore(faithful, null);
  });

  it('are not reported for the unchanged core', () => {
    expect(isFound(unchanged)).toBe(false);
  });

  it.each(mutants.map((mistake, i) => ({ ...mistake, i })))('$mistake ($file)', async ({ i, ...mistake }) => {
    expect(isFound(await copyOfCore(String(i), mistake))).toBe(true);
  });
});
