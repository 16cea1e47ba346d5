// The command line: `tollgate <command>`. `start` runs the control plane in the foreground.
import { Command } from 'commander';
import { runControlPlane } from '../main.ts';

const program = new Command('tollgate').description('Control plane for the tool calls of AI agents');

program
  .command('start')
  .description('run the control plane until SIGTERM; configured by environment variables, see README')
  .action(async () => {
    process.exitCode = await runControlPlane(process.env);
  });

await program.parseAsync();
