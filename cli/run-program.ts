// Runs a command-line program, prints its help, and reports the error of a command. All our command-line programs share
// this code.
import { Command, CommanderError } from 'commander';
import type { Cli, ExitCode } from './command.ts';
import { Failure } from './failure.ts';
import { escapeText } from './print/escape.ts';
import type { World } from './world.ts';

/** Runs one command of the program. Returns the exit code and never throws. */
export async function runProgram(words: readonly string[], world: World, create: (cli: Cli) => Command): Promise<ExitCode> {
  const cli: Cli = { world, exitCode: 0 };
  try {
    await create(cli).parseAsync([...words], { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 1;
    for (const line of linesOf(error)) world.stderr.write(`${line}\n`);
    return 1;
  }
}

/** Creates a program without commands. The help is as wide as the terminal of `world`. */
export function createBaseProgram(name: string, description: string, { world }: Cli): Command {
  return new Command(name)
    .description(description)
    .version(world.version, '--version', 'print the version')
    .option('--json', 'print the answer as JSON on standard output')
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
    .showHelpAfterError('  --help lists the commands and options')
    .exitOverride();
}

/**
 * Returns the width of the help. If the output of `world` is not a terminal, the width is fixed, even if the process
 * itself has a terminal.
 */
const helpWidth = ({ isTTY, columns }: World['stdout']): number => (isTTY === true ? (columns ?? 80) : 80);

function linesOf(error: unknown): readonly string[] {
  if (error instanceof Failure) return [`tollgate: ${escapeText(error.message)}`, ...error.details.map((line) => `  ${escapeText(line)}`)];
  if (error instanceof Error && 'syscall' in error) return [`tollgate: ${escapeText(error.message)}`];
  // A bug of ours: print its message, not its stack.
  return [
    `tollgate: ${escapeText(error instanceof Error ? error.message : String(error))}`,
    '  this is an error in tollgate itself; please report it',
  ];
}
