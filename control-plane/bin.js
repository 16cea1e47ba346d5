#!/usr/bin/env node
// Stands here, and not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const [, , command, host, ...rest] = process.argv;
// A host waits for it at every call: it loads nothing of the other commands.
const isHook = command === 'hook' && host !== undefined && !host.startsWith('-') && rest.length === 0;
const main = new URL(isHook ? './dist/cli/hook-main.js' : './dist/cli/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate is not built yet; run: npm run build\n');
  // With 2 a host does not run the call.
  process.exit(isHook ? 2 : 1);
}
await import(main.href);
