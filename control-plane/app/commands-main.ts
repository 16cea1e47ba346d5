// The control plane's program: `tollgate-control-plane <command>`. `bin.js` loads it for the commands of this package.
import { createRequire } from 'node:module';
import { worldOfProcess } from '@tollgate/cli';
import { runCommand } from './commands.ts';

const manifest: unknown = createRequire(import.meta.url)('@tollgate/control-plane/package.json');

process.exitCode = await runCommand(process.argv.slice(2), worldOfProcess(manifest));
