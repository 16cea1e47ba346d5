// Runs the official conformance suite against a server alone and against the same server through the proxy, with a
// policy that allows everything. The results must be equal, for both revisions, and match the table of
// docs/reference/conformance.md. `--write` updates the table. `--program` only shows what differs where the server
// behind the proxy is a program, which has no HTTP of its own.
import { readFileSync, writeFileSync } from 'node:fs';
import { compare, type Comparison, tableOf } from './compare.ts';
import { startKeyAdapter } from './key-adapter.ts';
import { setStage } from './stage.ts';
import { revisions, runSuite } from './suite.ts';

const reference = 'docs/reference/conformance.md';
const place = /(<!-- conformance -->\n)[\s\S]*?(<!-- end -->)/;

const isProgram = process.argv.includes('--program');
const comparisons = await runAll();
const table = tableOf(comparisons);
const differences = comparisons.flatMap((one) => one.differences);
process.stdout.write(`${[table, ...differences].join('\n\n')}\n`);
if (!isProgram) process.exitCode = isInReference() && differences.length === 0 ? 0 : 1;

async function runAll(): Promise<readonly Comparison[]> {
  const stage = await setStage({});
  const proxied = isProgram ? new URL('program', stage.proxied) : stage.proxied;
  const adapter = await startKeyAdapter(proxied, stage.key);
  try {
    const all: Comparison[] = [];
    for (const revision of revisions)
      all.push(compare(revision, await runSuite(stage.alone, revision), await runSuite(adapter.url, revision)));
    return all;
  } finally {
    adapter.close();
    await stage.close();
  }
}

function isInReference(): boolean {
  const text = readFileSync(reference, 'utf8');
  const wanted = text.replace(place, (_all, head: string, tail: string) => `${head}${table}\n${tail}`);
  if (process.argv.includes('--write')) writeFileSync(reference, wanted);
  else if (wanted !== text || !place.test(text)) {
    process.stdout.write(`\n${reference} has another table, or none; run: npm run conformance -- --write\n`);
    return false;
  }
  return true;
}
