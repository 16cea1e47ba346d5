// `npm run bench [-- name …]`: measures what targets are about, one JSON line each, and says which fall short.
import { cpus } from 'node:os';
import { benchAudit } from './audit.ts';
import { benchDecide } from './decide.ts';
import { benchGovern } from './govern.ts';
import type { Result } from './measure.ts';
import { benchRedact } from './redact.ts';

const benches: Readonly<Record<string, () => Promise<readonly Result[]>>> = {
  decide: benchDecide,
  govern: benchGovern,
  audit: benchAudit,
  redact: benchRedact,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(benches).join(', ')}`);
  process.exit(2);
}

console.log(`# ${cpus().length} × ${cpus()[0]?.model ?? 'unknown processor'}, Node ${process.version}`);
const short: Result[] = [];
for (const [name, bench] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  for (const result of await bench()) {
    console.log(JSON.stringify(result));
    if (!result.ok) short.push(result);
  }
}
console.log(
  short.length === 0
    ? '# every target is met'
    : `# short of target: ${short.map(({ name, ratio, target }) => `${name} (${ratio}, wanted ${target})`).join('; ')}`,
);
