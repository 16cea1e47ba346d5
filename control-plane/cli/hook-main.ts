// `tollgate hook <host>` in a process of its own: started by a host for every call of a tool, without the rest of the
// command line. Nothing that goes wrong here may end as an allow.
import { homedir } from 'node:os';
import { type HookSaid, runHook } from './commands/hook.ts';

// A promise that nobody awaits ends here too.
process.on('uncaughtException', (error) => {
  process.stderr.write(`tollgate: ${error.message}; the call is denied\n`);
  process.exit(2);
});

/** `bin.js` lets no other word through, and each with its value. */
function saidIn(words: readonly string[]): HookSaid {
  const after = (name: string): string | undefined => (words.includes(name) ? words[words.indexOf(name) + 1] : undefined);
  return { hostVersion: after('--host-version') ?? null, agent: after('--agent') ?? '' };
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
