#!/usr/bin/env node
// Stands here, and not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const [, , command, host, ...rest] = process.argv;
// A host waits for it at every call: it loads nothing of the other commands.
const isHook =
  command === 'hook' &&
  host !== undefined &&
  !host.startsWith('-') &&
  rest.length % 2 === 0 &&
  rest.every((word, at) => at % 2 === 1 || word === '--host-version' || word === '--agent');
const main = new URL(isHook ? './dist/hook-main.js' : './dist/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate is not built yet; run: npm run build\n');
  // With 2 a host does not run the call.
  process.exit(isHook ? 2 : 1);
}
// Process 1 of a container loses a signal that has no listener: until the program does, it ends here.
if (process.pid === 1) {
  const end = () => process.exit(143);
  process.on('SIGTERM', end);
  process.on('newListener', (name, listener) => {
    // Once that one is there: without any, Node would stop hearing the signal.
    if (name === 'SIGTERM' && listener !== end) queueMicrotask(() => process.off('SIGTERM', end));
  });
}
await import(main.href);
