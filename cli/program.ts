// The whole command line: its tree of commands, its options, and the handling of every error of a command.
import { Command, CommanderError } from 'commander';
import { act, type Cli, type ExitCode } from './command.ts';
import { addAuditCommands } from './commands/audit.ts';
import { addCaCommand } from './commands/ca.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addHookCommands } from './commands/hooks.ts';
import { addInjectCommand } from './commands/inject.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addMemberCommands } from './commands/members.ts';
import { addPolicyCommands } from './commands/policy.ts';
import { addProfileCommands } from './commands/profile.ts';
import { addRecoverCommand } from './commands/recover.ts';
import { addRestoreCommand } from './commands/restore.ts';
import { addRunCommand } from './commands/run.ts';
import { addRunCommands } from './commands/runs.ts';
import { addSidecarCommands } from './commands/sidecars.ts';
import { addSimulateCommand } from './commands/simulate.ts';
import { addStateCommands } from './commands/workspace-state.ts';
import { addWorkspaceCommands } from './commands/workspace.ts';
import { escapeText } from './print/escape.ts';
import { Failure } from './failure.ts';
import type { World } from './world.ts';

const epilogue = `
Where to: --url, TOLLGATE_URL, the profile's address, or http://127.0.0.1:8080. With which key: TOLLGATE_KEY or the profile's.
Beyond this machine the address must be https, unless TOLLGATE_ALLOW_PLAINTEXT=true.

Exit codes:
  0  done
  1  could not; standard error says what, where, and what would be right, or, where no command was named, which there are
  2  something differs (policy diff, --dry-run, simulate); of doctor: an agent has no hooks; of start: the configuration is refused;
     of hook: the call is denied
  124  the time of --timeout was up, and the run is cancelled (run)
  130  interrupted (audit export, run)`;

/** Runs one command. Returns the exit code and never throws. */
export async function runCli(words: readonly string[], world: World): Promise<ExitCode> {
  const cli: Cli = { world, exitCode: 0 };
  try {
    await createProgram(cli).parseAsync([...words], { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    for (const line of linesOf(error)) world.stderr.write(`${line}\n`);
    return 1;
  }
}

/** Builds every command without running one. The help is as wide as the terminal of `world`. */
export function createProgram(cli: Cli): Command {
  const { world } = cli;
  const program = new Command('tollgate')
    .description('Says which agent may call which tool, for whom and how often, and proves afterwards what happened')
    .version(world.version, '--version', 'print the version')
    .option('--json', 'the answer as JSON on standard output')
    .option('--url <url>', "the control plane's REST address")
    .option('--profile <name>', 'another profile than the one in use')
    .option(
      '--timeout <seconds>',
      'how long an answer may take (without: 30), and of run the whole run (without: as long as its agent may)',
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void world.stdout.write(text),
      writeErr: (text) => void world.stderr.write(text),
      getOutHelpWidth: () => helpWidth(world.stdout),
      getErrHelpWidth: () => helpWidth(world.stderr),
      outputError: (text, write) =>
        write(
          `${text
            .replace(/^error: /, 'tollgate: ')
            .trimEnd()
            .split('\n')
            .map(escapeText)
            .join('\n  ')}\n`,
        ),
    })
    .showHelpAfterError('  --help says what there is')
    .exitOverride()
    .addHelpText('after', epilogue);
  program
    .command('start')
    .description('run the control plane until SIGTERM; configured by environment variables, see README')
    .action(act(cli, startControlPlane));
  addRecoverCommand(program, cli);
  addRestoreCommand(program, cli);
  addProfileCommands(program, cli);
  addWorkspaceCommands(program, cli);
  addKeyCommands(program, cli);
  addMemberCommands(program, cli);
  addPolicyCommands(program, cli);
  addExplainCommand(program, cli);
  addSimulateCommand(program, cli);
  addRunCommand(program, cli);
  addRunCommands(program, cli);
  addAuditCommands(program, cli);
  addSidecarCommands(program, cli);
  addCaCommand(program, cli);
  addStateCommands(program, cli);
  addHookCommands(program, cli);
  addDoctorCommand(program, cli);
  addInjectCommand(program, cli);
  addCompletionCommand(program, cli);
  return program;
}

/** If the output is not a terminal, the width is fixed, whatever the process itself writes to. */
const helpWidth = ({ isTTY, columns }: World['stdout']): number => (isTTY === true ? (columns ?? 80) : 80);

/** Imported only here, so that the other commands start without loading the control plane. */
async function startControlPlane({ world }: { readonly world: World }): Promise<ExitCode> {
  const { runControlPlane } = await import('../control-plane/app/main.ts');
  const code = await runControlPlane(world.env);
  return code === 0 || code === 2 ? code : 1;
}

function linesOf(error: unknown): readonly string[] {
  if (error instanceof Failure) return [`tollgate: ${escapeText(error.message)}`, ...error.details.map((line) => `  ${escapeText(line)}`)];
  if (error instanceof Error && 'syscall' in error) return [`tollgate: ${escapeText(error.message)}`];
  // A bug of ours: print its message, not its stack.
  return [
    `tollgate: ${escapeText(error instanceof Error ? error.message : String(error))}`,
    '  this is a mistake of tollgate itself; please report it',
  ];
}
