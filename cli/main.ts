// The command line: `tollgate <command>`.
import { createRequire } from 'node:module';
import { worldOfProcess } from './process-world.ts';
import { runCli } from './program.ts';

const manifest: unknown = createRequire(import.meta.url)('@tollgate/cli/package.json');

process.exitCode = await runCli(process.argv.slice(2), worldOfProcess(manifest));
