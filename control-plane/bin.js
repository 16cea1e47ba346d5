#!/usr/bin/env node
// Stands here, and not in dist, so that npm can link it before anything is built. It runs the commands of the control
// plane, and passes every other command on to `tollgate`: installed hooks hold this path, and a coding agent runs the
// call where their program is gone.
import { existsSync } from 'node:fs';

const [, , command] = process.argv;

if (command === 'start' || command === 'recover' || command === 'restore') await runOwn();
else await passOn();

async function runOwn() {
  const main = new URL('./dist/app/commands-main.js', import.meta.url);
  if (!existsSync(main)) {
    process.stderr.write('tollgate-control-plane is not built yet; run: npm run build\n');
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
}

async function passOn() {
  try {
    await import('@tollgate/cli/bin.js');
  } catch (error) {
    // With 2 a host does not run the call.
    const code = command === 'hook' ? 2 : 1;
    const isMissing = String(error).includes("Cannot find package '@tollgate/cli'");
    process.stderr.write(`tollgate: ${isMissing ? 'the package @tollgate/cli is not installed; run: npm ci' : error?.stack}\n`);
    process.exit(code);
  }
}
