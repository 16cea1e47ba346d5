// The program of `npm run frozen`.
import { fileURLToPath } from 'node:url';
import { runFrozen } from './command.ts';
import { frozenFolder } from './compare.ts';
import { makeContracts } from './contracts.ts';

process.exitCode = await runFrozen(process.argv.slice(2), {
  folder: frozenFolder,
  root: fileURLToPath(new URL('../..', import.meta.url)),
  make: makeContracts,
  say: (text) => void process.stdout.write(text),
});
