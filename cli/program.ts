// Builds and runs the whole command line: its tree of commands and its options.
import type { Command } from 'commander';
import type { Cli, ExitCode } from './command.ts';
import { addApprovalCommands } from './commands/approvals.ts';
import { addAuditCommands } from './commands/audit.ts';
import { addCallCommands } from './commands/call.ts';
import { addCaCommand } from './commands/ca.ts';
import { addChannelCommands } from './commands/channels.ts';
import { addCompletionCommand } from './commands/completion.ts';
import { addControlPlaneCommands } from './commands/control-plane.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addExplainCommand } from './commands/explain.ts';
import { addHookCommands } from './commands/hooks.ts';
import { addInjectCommand } from './commands/inject.ts';
import { addKeyCommands } from './commands/keys.ts';
import { addMemberCommands } from './commands/members.ts';
import { addPolicyCommands } from './commands/policy.ts';
import { addProfileCommands } from './commands/profile.ts';
import { addRunCommand } from './commands/run.ts';
import { addRunCommands } from './commands/runs.ts';
import { addSidecarCommands } from './commands/sidecars.ts';
import { addSimulateCommand } from './commands/simulate.ts';
import { addStatsCommands } from './commands/stats.ts';
import { addStateCommands } from './commands/workspace-state.ts';
import { addWorkspaceCommands } from './commands/workspace.ts';
import { createBaseProgram, runProgram } from './run-program.ts';
import type { World } from './world.ts';

const epilogue = `
Address: --url, TOLLGATE_URL, the address of the profile, or http://127.0.0.1:8080. Key: TOLLGATE_KEY or the key of the profile.
An address on another machine must be https, unless TOLLGATE_ALLOW_PLAINTEXT=true.

Exit codes:
  0  done
  1  failed; standard error says what is wrong, where, and what is right; without a command it lists the commands
  2  there are differences (policy diff, --dry-run, simulate); for policy test: a decision is not as expected; for doctor: an
     agent has no hooks; for start: the configuration is invalid; for hook: the call is denied
  124  the time limit of --timeout has passed, and the run is cancelled (run)
  130  interrupted (audit export, run)`;

/** Runs one command. Returns the exit code and never throws. */
export const runCli = (words: readonly string[], world: World): Promise<ExitCode> => runProgram(words, world, createProgram);

/** Builds every command without running one. */
export function createProgram(cli: Cli): Command {
  const program = createBaseProgram(
    'tollgate',
    'Controls which agent may call which tool, for whom and how often, and proves what was decided',
    cli,
  )
    .option('--url <url>', "the control plane's REST address")
    .option('--profile <name>', 'the profile to use instead of the current one')
    .option(
      '--timeout <seconds>',
      'time limit for an answer (default: 30); for run, time limit of the whole run (default: the limit of its agent)',
    )
    .addHelpText('after', epilogue);
  addControlPlaneCommands(program, cli);
  addProfileCommands(program, cli);
  addWorkspaceCommands(program, cli);
  addKeyCommands(program, cli);
  addMemberCommands(program, cli);
  addPolicyCommands(program, cli);
  addExplainCommand(program, cli);
  addSimulateCommand(program, cli);
  addRunCommand(program, cli);
  addRunCommands(program, cli);
  addApprovalCommands(program, cli);
  addChannelCommands(program, cli);
  addAuditCommands(program, cli);
  addStatsCommands(program, cli);
  addCallCommands(program, cli);
  addSidecarCommands(program, cli);
  addCaCommand(program, cli);
  addStateCommands(program, cli);
  addHookCommands(program, cli);
  addDoctorCommand(program, cli);
  addInjectCommand(program, cli);
  addCompletionCommand(program, cli);
  return program;
}
