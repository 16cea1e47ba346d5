#!/usr/bin/env node
// The program `tollgate-control-plane`. This file is not in `dist`, so that npm can link it before anything is built.
// It runs the commands of the control plane, and passes every other command to `tollgate`. Installed hooks contain the
// path of this file. If it did not exist, a coding agent would make the tool call without a decision.
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';

const [, , command] = process.argv;

if (command === 'start' || command === 'recover' || command === 'restore') await runOwn();
else await passOn();

async function runOwn() {
  const main = new URL('./dist/app/commands-main.js', import.meta.url);
  if (!existsSync(main)) {
    process.stderr.write('tollgate-control-plane is not built yet; run: npm run build\n');
    process.exit(1);
  }
  // Most of what a start allocates stays in use. V8 would therefore enlarge its young generation to 32 MB, which the
  // process does not need at rest. `main.ts` lets it grow again, when load can come.
  setFlagsFromString('--semi-space-growth-factor=1');
  // As process 1 of a container, Node ignores a signal that has no listener. Until the program adds its own listener
  // for SIGTERM, this listener ends the process.
  if (process.pid === 1) {
    const end = () => process.exit(143);
    process.on('SIGTERM', end);
    process.on('newListener', (name, listener) => {
      // Removes `end` only after the program's listener is added. Without any listener, Node would no longer receive
      // the signal.
      if (name === 'SIGTERM' && listener !== end) queueMicrotask(() => process.off('SIGTERM', end));
    });
  }
  await import(main.href);
}

async function passOn() {
  try {
    await import('@tollgate/cli/bin.js');
  } catch (error) {
    // With exit code 2, a coding agent does not make the tool call.
    const code = command === 'hook' ? 2 : 1;
    const isMissing = String(error).includes("Cannot find package '@tollgate/cli'");
    process.stderr.write(`tollgate: ${isMissing ? 'the package @tollgate/cli is not installed; run: npm ci' : error?.stack}\n`);
    process.exit(code);
  }
}
