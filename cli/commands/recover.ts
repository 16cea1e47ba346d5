// `tollgate recover`: for the operator, on a machine that can reach the database directly.
import type { Command } from 'commander';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';

export function addRecoverCommand(program: Command, cli: Cli): void {
  program
    .command('recover')
    .description(
      "where every key of a workspace's owners was lost: a new one of the first owner, alone on standard output; finds the database as start does",
    )
    .argument('<workspace>', 'its slug')
    .action(act(cli, recover));
}

/** Imported only here, so that the other commands start without loading the control plane. */
async function recover({ world, words, print }: Asked<object>): Promise<void> {
  const [workspace = ''] = words;
  const { recoverWorkspace } = await import('../../control-plane/app/recover.ts');
  const recovered = await recoverWorkspace(world.env, workspace, print.note);
  if (recovered.kind === 'refused') throw new Failure(`nothing was done: ${recovered.reason}`);
  const { id, uid, key } = recovered;
  await print.secret({ id, uid, key }, key, `key ${id} of the owner ${uid} is made, shown this once; revoke those that were lost:`);
}
