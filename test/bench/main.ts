// `npm run bench [-- name …] [--write]`: measures what targets are about, one JSON line each as it comes, and says which fall short.
// `redact` stands for all of its parts. `--write` puts what was seen into docs/performance.md. What is imported as a package is
// what was built, as users have it.
import { benchAudit } from './audit.ts';
import { benchDecide } from './decide.ts';
import { benchDeltas } from './deltas.ts';
import { benchFanout } from './fanout.ts';
import { benchFootprint } from './footprint.ts';
import { benchGovern } from './govern.ts';
import { benchHooks } from './hooks.ts';
import type { Result } from './measure.ts';
import { benchProxies } from './proxies.ts';
import { benchRedactQuality, benchRedactSpeed } from './redact.ts';
import { benchWorst } from './redact-worst.ts';
import { machine, writeSeen } from './report.ts';
import { benchStarts } from './starts.ts';

type Bench = () => Promise<readonly Result[]> | AsyncIterable<Result> | Iterable<Result>;

const benches: Readonly<Record<string, Bench>> = {
  decide: benchDecide,
  govern: benchGovern,
  hooks: benchHooks,
  proxies: benchProxies,
  deltas: benchDeltas,
  fanout: benchFanout,
  footprint: benchFootprint,
  starts: benchStarts,
  audit: benchAudit,
  // Scores the held-out rows: once, when detectors are done.
  'redact-quality': benchRedactQuality,
  'redact-speed': benchRedactSpeed,
  'redact-worst': benchWorst,
};

const writes = process.argv.includes('--write');
const asked = process.argv.slice(2).filter((argument) => argument !== '--write');
const isAsked = (name: string, of: string): boolean => name === of || name.startsWith(`${of}-`);
const unknown = asked.filter((of) => !Object.keys(benches).some((name) => isAsked(name, of)));
if (unknown.length > 0) {
  console.error(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}

console.log(`# ${machine()}`);
const short: Result[] = [];
for (const [name, bench] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.some((of) => isAsked(name, of))) continue;
  const results: Result[] = [];
  for await (const result of await bench()) {
    const { bound: _bound, ...line } = result;
    console.log(JSON.stringify(line));
    results.push(result);
  }
  short.push(...results.filter(({ ok }) => !ok));
  if (writes) writeSeen(name, results);
}
console.log(
  short.length === 0
    ? '# every target is met'
    : `# short of target: ${short.map(({ name, ratio, target }) => `${name} (${ratio}, wanted ${target})`).join('; ')}`,
);
// One of the libraries goes on with work that nobody waits for.
process.exit();
