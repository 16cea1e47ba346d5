// The audit log as an auditor gets it: a checkpoint kept from before any fault, the log exported with its proof and
// verified offline. The same export with one word changed must be refused.
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Violation } from './checker.ts';
import { planeNames } from './plan.ts';
import { ownerKey, type World } from './world.ts';

export interface ChainResult {
  readonly said: string;
  readonly violations: readonly Violation[];
}

const bin = fileURLToPath(new URL('../../../cli/bin.js', import.meta.url));

interface Ran {
  readonly code: number;
  readonly output: string;
}

function tollgate(world: World, args: readonly string[], offline = false): Promise<Ran> {
  const plane = planeNames.map((name) => world.planeAt(name)).find((each) => each !== null);
  const connected = offline ? {} : { TOLLGATE_URL: plane?.rest ?? '', TOLLGATE_KEY: ownerKey };
  const env = { PATH: process.env['PATH'], HOME: world.folder, ...connected };
  return new Promise((done) => {
    execFile(process.execPath, [bin, 'audit', ...args], { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}`.trim() }),
    );
  });
}

const broken = (what: string, { code, output }: Ran): Violation => ({
  invariant: 'chain',
  what: `${what} ended with ${code}: ${output.slice(0, 1_000)}`,
});

const checkpointIn = ({ folder }: World): string => join(folder, 'kept-checkpoint');

/** The files that an auditor keeps. */
export async function keepCheckpoint(world: World): Promise<void> {
  const made = await tollgate(world, ['checkpoint', '-o', checkpointIn(world)]);
  if (made.code !== 0) throw new Error(broken('a checkpoint', made).what);
}

export async function verifyChain(world: World): Promise<ChainResult> {
  const file = join(world.folder, 'export.ndjson');
  const keys = join(world.folder, 'keys');
  const exported = await tollgate(world, ['export', '--proof', '-o', file]);
  if (exported.code !== 0) return { said: exported.output, violations: [broken('the export', exported)] };
  const listed = await tollgate(world, ['keys']);
  writeFileSync(keys, `${listed.output}\n`);
  const against = ['--checkpoint', checkpointIn(world), '--public-key', keys];
  const verified = await tollgate(world, ['verify', file, ...against], true);
  const changed = join(world.folder, 'changed.ndjson');
  writeFileSync(changed, readFileSync(file, 'utf8').replace('policy_denied', 'policy_allows'));
  const refused = await tollgate(world, ['verify', changed, ...against], true);
  return {
    said: verified.output.replaceAll(/\s*\n\s*/g, '; '),
    violations: [
      ...(verified.code === 0 ? [] : [broken('the verification', verified)]),
      ...(refused.code === 1 ? [] : [broken('the verification of a log with a word changed', refused)]),
    ],
  };
}
