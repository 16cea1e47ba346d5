// `tollgate hook <host>` in its own process: a host starts it for every tool call, without the rest of the command
// line. An error here must never result in an allow.
import { homedir } from 'node:os';
import { type HookSaid, runHook } from './commands/hook.ts';

// Node also reports unhandled promise rejections with this event.
process.on('uncaughtException', (error) => {
  process.stderr.write(`tollgate: ${error.message}; the call is denied\n`);
  process.exit(2);
});

/** Reads the options about the caller. `bin.js` passes only these options, each with its value. */
function saidIn(words: readonly string[]): HookSaid {
  const after = (name: string): string | undefined => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
  return { hostVersion: after('--host-version') ?? null, agent: after('--agent') ?? '', wait: after('--wait-ms') ?? null };
}

process.exitCode = await runHook(
  process.argv[3] ?? '',
  {
    env: process.env,
    home: homedir(),
    stdin: process.stdin,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  },
  saidIn(process.argv.slice(4)),
);
