// `npm run test:long [-- <part> …]`: runs all tests that take too long for `npm test` and for CI, part after part. A
// part that fails does not stop the next. Ends with 1 where a part has failed, with 2 where a part is unknown, and with
// 130 after Ctrl-C. `--list` prints the parts.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { hasPassed, listOf, type Part, parts, readArguments, type Result, tableOf } from './parts.ts';

const say = (...lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

/** What to do before the part can run. */
function remediesOf({ needs = [] }: Part): readonly string[] {
  return needs.filter(({ check: [program, ...words] }) => spawnSync(program, words).status !== 0).map(({ remedy }) => remedy);
}

async function run(part: Part): Promise<boolean> {
  say('', `== ${part.name}: ${part.about}`);
  const remedies = remediesOf(part);
  if (remedies.length > 0) {
    say(`== FAILED: ${part.name} cannot run here. First:`, ...remedies.map((remedy) => `  ${remedy}`));
    return false;
  }
  const [program, ...words] = part.command;
  const child = spawn(program, words, { stdio: 'inherit', env: { ...process.env, ...part.env } });
  const [code] = await once(child, 'exit').catch((error: unknown) => {
    say(String(error));
    return [null];
  });
  if (code !== 0) say(`== FAILED: ${part.name}`);
  return code === 0;
}

async function runAll(asked: readonly Part[]): Promise<number> {
  // The part also receives Ctrl-C, and ends.
  let isInterrupted = false;
  process.on('SIGINT', () => {
    isInterrupted = true;
  });
  const results: Result[] = [];
  for (const part of asked) {
    const startedAt = performance.now();
    const outcome = isInterrupted ? 'not run' : (await run(part)) ? 'passed' : 'failed';
    results.push({ name: part.name, outcome, seconds: (performance.now() - startedAt) / 1_000 });
  }
  say('', ...tableOf(results));
  if (isInterrupted) return 130;
  return hasPassed(results) ? 0 : 1;
}

const asked = readArguments(process.argv.slice(2));
switch (asked.kind) {
  case 'list':
    say(...listOf(parts));
    break;
  case 'refused':
    process.stderr.write(`${asked.problem}\n`);
    process.exitCode = 2;
    break;
  case 'run':
    process.exitCode = await runAll(asked.parts);
}
