// Checks that the tests can fail. The decision tables, or a modest number of generated scenes, must find each seeded
// mistake in a copy of the decide core. They must find nothing in the copy without a mistake.
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { loadCases } from '../support/cases.ts';
import { mapRules } from './edit.ts';
import { type Scene, sceneOf } from './generate.ts';
import { type Mutant, mutants } from './mutants.ts';
import * as reference from './reference.ts';
import * as subject from './subject.ts';
import type { Outcome, World } from './world.ts';

const root = join(import.meta.dirname, '../..');
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
const plain = fc.sample(sceneOf(), { numRuns: 600, seed: 20_261_120 });
const withCases = fc.sample(sceneOf({ cases: 60, audit: 10 }), { numRuns: 800, seed: 20_261_126 });
const scenes = [...plain.flatMap((scene) => [scene, { ...scene, world: withOwnOverrides(scene.world) }]), ...withCases];

const judged = [...tables, ...scenes].map(({ world, calls }) => ({
  world,
  calls,
  message: subject.messageOf(world),
  wanted: reference.decideCalls(world, calls),
}));

/** Returns whether some scene is decided differently from the reference. */
const isFound = (core: subject.Core): boolean =>
  judged.some(({ world, calls, message, wanted }) => {
    const decided = attempt(() => subject.decideFrom(message, world, calls, core));
    return !isDeepStrictEqual(decided, wanted);
  });

function attempt(decide: () => readonly Outcome[]): readonly Outcome[] | null {
  try {
    return decide();
  } catch {
    return null;
  }
}

/** Makes a copy of the decide core, with the mistake if one is given. */
async function copyOfCore(name: string, mistake: Mutant | null): Promise<subject.Core> {
  const copy = join(folder, name);
  for (const part of ['conditions', 'decide', 'json', 'limits'])
    await cp(join(root, 'sidecar/engine', part), join(copy, part), { recursive: true });
  if (mistake !== null) {
    const path = join(copy, mistake.file);
    const text = await readFile(path, 'utf8');
    expect(text.split(mistake.search).length - 1, `${mistake.file} holds ${JSON.stringify(mistake.search)} once`).toBe(1);
    await writeFile(
      path,
      text.replace(mistake.search, () => mistake.replace),
    );
  }
  const load = async (file: string): Promise<Partial<subject.Core>> => await import(join(copy, file));
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

describe('seeded mistakes in the decide core', { timeout: 120_000 }, () => {
  it('are at least twenty', () => {
    expect(mutants.length).toBeGreaterThanOrEqual(20);
  });

  it('are not reported for the unchanged core', async () => {
    expect(isFound(await copyOfCore('faithful', null))).toBe(false);
  });

  it.each(mutants.map((mistake, i) => ({ ...mistake, i })))('$mistake ($file)', async ({ i, ...mistake }) => {
    expect(isFound(await copyOfCore(String(i), mistake))).toBe(true);
  });
});
