// Reads a line as a condition does, and shows the result as a text.
import { Site } from '../../sidecar/engine/conditions/environment.ts';
import { shellFunctions } from '../../sidecar/engine/conditions/functions/shell.ts';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import type { SimpleCommand } from '../../sidecar/engine/conditions/functions/shell.ts';

const site = new Site('shell(args.command)');

/** `accepted`: the launchers and variables that the rule names. Undecided: nothing is known of the line. */
export function readLine(line: string, accepted: readonly string[] = []): readonly SimpleCommand[] | Undecided {
  const env = { variables: {}, steps: 0, slots: [] };
  return shellFunctions['shell']?.apply([line, accepted], env, site) as readonly SimpleCommand[] | Undecided;
}

const shown = (word: string | Undecided): string => (word instanceof Undecided ? '?' : word);

/** One text for each command: its assignments, name, words and redirects. `?`: one unknown word, `…`: unknown words. */
export function showLine(line: string, accepted: readonly string[] = []): readonly string[] | 'undecided' {
  const commands = readLine(line, accepted);
  if (commands instanceof Undecided) return 'undecided';
  return commands.map(({ name, words, redirects, assignments }) =>
    [
      ...assignments.map((assigned) => `${assigned}=`),
      ...(name === '' ? [] : [shown(name)]),
      ...(words instanceof Undecided ? ['…'] : words.map(shown)),
      ...redirects.map(({ operator, target = '' }) => `${operator}${shown(target)}`),
    ].join(' '),
  );
}
