#!/usr/bin/env node
// Stands here, and not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const main = new URL('./dist/app/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate-sidecar is not built yet; run: npm run build\n');
  process.exit(1);
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
