// `tollgate start`, `recover` and `restore`: these commands now belong to the program `tollgate-control-plane`. For one
// version, `tollgate` still accepts them: it runs that program in this process and writes a notice to standard error.
import { createRequire } from 'node:module';
import type { Command } from 'commander';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { Failure } from '../failure.ts';
import type { World } from '../world.ts';

export function addControlPlaneCommands(program: Command, cli: Cli): void {
  program
    .command('start')
    .description('run the control plane until SIGTERM; configured by environment variables, see docs/reference/environment.md')
    .action(act(cli, (asked) => passOn(asked, ['start'])));
  program
    .command('recover')
    .description(
      'create a key for the first owner of a workspace, if all owners have lost their keys; it is printed alone on standard output; finds the database as start does',
    )
    .argument('<workspace>', 'its slug')
    .action(act(cli, (asked) => passOn(asked, ['recover', ...asked.words])));
  program
    .command('restore')
    .description('after the database was restored from a backup: send the policy to every sidecar again; finds the database as start does')
    .option('--force', 'also while control planes use it; they continue with the restored data')
    .action(act<Restoring>(cli, (asked) => passOn(asked, ['restore', ...(asked.options.force === true ? ['--force'] : [])])));
}

interface Restoring {
  readonly force?: boolean;
}

const packageName = '@tollgate/control-plane';

/**
 * The part of `control-plane/app/commands.ts` that is used here. The type is repeated because the command line does not
 * depend on that package.
 */
interface ControlPlaneCommands {
  readonly runCommand: (words: readonly string[], world: World) => Promise<ExitCode>;
}

async function passOn({ world, options, print }: Asked<object>, words: readonly string[]): Promise<ExitCode> {
  const [name = ''] = words;
  requirePackage(name);
  print.note(
    `tollgate ${name} is now tollgate-control-plane ${name}, a program of ${packageName}; the next version removes tollgate ${name}`,
  );
  const { runCommand }: ControlPlaneCommands = await import(`${packageName}/commands`);
  return runCommand(options.json === true ? ['--json', ...words] : words, world);
}

function requirePackage(command: string): void {
  try {
    createRequire(import.meta.url).resolve(`${packageName}/package.json`);
  } catch (error) {
    throw new Failure(
      `${command} is a command of the package ${packageName}, which is not installed here`,
      [`install the package on the machine of the control plane, and run tollgate-control-plane ${command} on that machine`],
      error,
    );
  }
}
