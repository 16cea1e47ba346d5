// `tollgate restore`: for the operator, on a machine that can reach the database directly.
import type { Command } from 'commander';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';

export function addRestoreCommand(program: Command, cli: Cli): void {
  program
    .command('restore')
    .description('after a database was put back from a backup: have every sidecar take its policy anew; finds the database as start does')
    .option('--force', 'also while control planes run on it; they go on with what was put back')
    .action(act(cli, restore));
}

/** Imported only here, so that the other commands start without loading the control plane. */
async function restore({ world, options, print }: Asked<{ readonly force?: boolean }>): Promise<void> {
  const { restoreDatabase } = await import('../../control-plane/app/restore.ts');
  const renewed = await restoreDatabase(world.env, { force: options.force === true, wait: world.wait, note: print.note });
  if (renewed.kind === 'refused') throw new Failure(`nothing was done: ${renewed.reason}`);
  const { before, epoch, restored } = renewed;
  await print.lines({ before, epoch, ...restored }, [`epoch ${epoch}, before ${before}`]);
  print.note(`every sidecar of ${restored.workspaces} workspaces takes its policy anew, and goes on by what it holds until then`);
  print.note(`entries that ${restored.spools} spools brought after the backup are missing: they show as gaps of the audit log`);
  print.note(`${restored.counters} shared limits count from nothing: what was granted in the last two seconds is not known here`);
}
