// `tollgate completion <shell>`: prints a completion script that is built from the tree of commands.
import { type Command, Argument } from 'commander';
import { act, type Cli } from '../command.ts';
import { bashScript, fishScript, treeOf, zshScript } from '../completion.ts';

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof scripts;

export function addCompletionCommand(program: Command, cli: Cli): void {
  program
    .command('completion')
    .description('print the completion script of a shell; for bash: source <(tollgate completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(
      act(cli, async ({ words: [shell], print }) => {
        const script = scripts[isShell(shell) ? shell : 'bash'](treeOf(program));
        await print.lines({ shell, script }, [script]);
      }),
    );
}

const isShell = (text: string | undefined): text is Shell => text !== undefined && Object.hasOwn(scripts, text);
