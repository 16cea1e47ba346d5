// `npm run test:chaos -- --kills 200 [--seed n] [--minutes m]`: kills the built programs at random under load, and
// reports what was lost. Ends with 1 where any invariant was violated.
import { parseArgs } from 'node:util';
import { reportLines } from './report.ts';
import { runKills } from './run.ts';

const secondsForKill = 1.6;

function numberIn(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} must be a number of at least 0, and ${text} is not`);
  return value;
}

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' }, minutes: { type: 'string' } } });
const kills = numberIn('kills', values.kills, 200);
const seed = numberIn('seed', values.seed, Date.now() % 1_000_000);
const minutes = numberIn('minutes', values.minutes, (kills * secondsForKill) / 60);

// This program ends the programs that it runs: Ctrl-C stops further faults, and the rest is checked.
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
process.stdout.write(`${kills} kills within ${minutes.toFixed(1)} minutes, seed ${seed}\n`);
const outcome = await runKills({ seed, kills, ms: minutes * 60_000 }, interrupted.signal);
process.stdout.write(`${reportLines(outcome).join('\n')}\n`);
process.exitCode = outcome.violations.length + outcome.healed.late.length === 0 ? 0 : 1;
