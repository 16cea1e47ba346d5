#!/usr/bin/env node
// Starts the sidecar process. This file is not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

const main = new URL('./dist/app/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate-sidecar is not built yet; run: npm run build\n');
  process.exit(1);
}
// Most of what a start allocates stays in use. V8 would therefore enlarge its young generation to 32 MB, which the
// process does not need at rest. `main.ts` lets it grow again, when load can come.
setFlagsFromString('--semi-space-growth-factor=1');
// V8 would optimize the functions that read the imported files, for 0.15 s of CPU and 10 MB, just before the last of
// them is read. `main.ts` lets it optimize again.
setFlagsFromString('--no-opt');
// In a container, process 1 ignores a signal for which it has no listener. Until the program has its own listener, this
// one ends the process.
if (process.pid === 1) {
  const end = () => process.exit(143);
  process.on('SIGTERM', end);
  process.on('newListener', (name, listener) => {
    // This listener is removed after the program has added its own. If no listener existed in between, Node would no
    // longer receive the signal.
    if (name === 'SIGTERM' && listener !== end) queueMicrotask(() => process.off('SIGTERM', end));
  });
}
await import(main.href);
