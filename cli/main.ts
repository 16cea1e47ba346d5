// The command line: `tollgate <command>`. It passes everything of the process that a command may use.
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { runCli } from './program.ts';
import { createPrompts } from './prompts.ts';

const { stdin, stdout, stderr } = process;
// A reader that closes the pipe, such as `head`, has read enough. That is not an error.
for (const sink of [stdout, stderr])
  sink.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });

const manifest: unknown = createRequire(import.meta.url)('@tollgate/control-plane/package.json');
const version = typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';

process.exitCode = await runCli(process.argv.slice(2), {
  env: process.env,
  version,
  home: homedir(),
  cwd: process.cwd(),
  self: [process.execPath, process.argv[1] ?? 'tollgate'].map((part) => `"${part}"`).join(' '),
  stdin,
  stdout,
  stderr,
  prompts: stdin.isTTY && stderr.isTTY ? createPrompts(stdin, stderr) : null,
  now: () => new Date(),
  random: Math.random,
  wait: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined),
  interruption: () => {
    const interrupted = new AbortController();
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort());
    return interrupted.signal;
  },
});
