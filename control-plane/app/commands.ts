// The commands of the control plane's own program: `tollgate-control-plane start`, `recover` and `restore`. They are
// for the operator, on a machine that can reach the database directly. They use the printer and the errors of
// `tollgate`, so both programs print in the same way.
import { act, type Asked, type Cli, createBaseProgram, type ExitCode, Failure, runProgram, type World } from '@tollgate/cli';

/** Runs one command. Returns the exit code and never throws. */
export const runCommand = (words: readonly string[], world: World): Promise<ExitCode> => runProgram(words, world, createProgram);

function createProgram(cli: Cli) {
  const program = createBaseProgram('tollgate-control-plane', 'The control plane: runs it, and works on its database', cli);
  program
    .command('start')
    .description('run the control plane until SIGTERM; configured by environment variables, see docs/reference/environment.md')
    .action(act(cli, start));
  program
    .command('recover')
    .description(
      "where every key of a workspace's owners was lost: a new one of the first owner, alone on standard output; finds the database as start does",
    )
    .argument('<workspace>', 'its slug')
    .action(act(cli, recover));
  program
    .command('restore')
    .description('after a database was put back from a backup: have every sidecar fetch its policy again; finds the database as start does')
    .option('--force', 'also while control planes run on it; they continue with what was put back')
    .action(act(cli, restore));
  return program;
}

// Each command imports its code only when it runs. So the help of a command does not load the servers.

async function start({ world }: Asked<object>): Promise<ExitCode> {
  const { runControlPlane } = await import('./main.ts');
  const code = await runControlPlane(world.env);
  return code === 0 || code === 2 ? code : 1;
}

async function recover({ world, words, print }: Asked<object>): Promise<void> {
  const [workspace = ''] = words;
  const { recoverWorkspace } = await import('./recover.ts');
  const recovered = await recoverWorkspace(world.env, workspace, print.note);
  if (recovered.kind === 'refused') throw new Failure(`nothing was done: ${recovered.reason}`);
  const { id, uid, key } = recovered;
  await print.secret({ id, uid, key }, key, `key ${id} of the owner ${uid} is made, shown this once; revoke those that were lost:`);
}

async function restore({ world, options, print }: Asked<{ readonly force?: boolean }>): Promise<void> {
  const { restoreDatabase } = await import('./restore.ts');
  const renewed = await restoreDatabase(world.env, { force: options.force === true, wait: world.wait, note: print.note });
  if (renewed.kind === 'refused') throw new Failure(`nothing was done: ${renewed.reason}`);
  const { before, epoch, restored } = renewed;
  await print.lines({ before, epoch, ...restored }, [`epoch ${epoch}, before ${before}`]);
  print.note(`every sidecar of ${restored.workspaces} workspaces fetches its policy again, and uses the one that it holds until then`);
  print.note(`entries that ${restored.spools} spools brought after the backup are missing: they show as gaps of the audit log`);
  print.note(`${restored.counters} shared limits count from nothing: what was granted in the last two seconds is not known here`);
}
