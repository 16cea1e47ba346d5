#!/usr/bin/env node
// The program `tollgate`: loads `hook-main.js` for `tollgate hook <host>`, and `main.js` for all other commands. This
// file is not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const [, , command, host, ...rest] = process.argv;
// A host starts `tollgate hook` at every call and waits until it ends. Therefore this process loads no code of other
// commands.
const isHook =
  command === 'hook' &&
  host !== undefined &&
  !host.startsWith('-') &&
  rest.length % 2 === 0 &&
  rest.every((word, at) => at % 2 === 1 || word === '--host-version' || word === '--agent' || word === '--wait-ms');
const main = new URL(isHook ? './dist/hook-main.js' : './dist/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate is not built yet; run: npm run build\n');
  // With exit code 2, a host does not run the call.
  process.exit(isHook ? 2 : 1);
}
// In a container, process 1 ignores a signal that has no listener. Until the program adds its own listener, SIGTERM
// ends the process here.
if (process.pid === 1) {
  const end = () => process.exit(143);
  process.on('SIGTERM', end);
  process.on('newListener', (name, listener) => {
    // Removes this listener after the program's own listener is added. Without any listener, Node would not receive the
    // signal.
    if (name === 'SIGTERM' && listener !== end) queueMicrotask(() => process.off('SIGTERM', end));
  });
}
await import(main.href);
