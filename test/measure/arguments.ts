// The command line of `node test/measure`. Called by main.ts.

export const usage = `node test/measure [--at <commit>] [--static] [--json]

Measures the sources of this repository, and the files that a governed call, a policy change, an entry
and a run pass. The head of each part of the output says what is counted.

  --at <commit>  measure that commit, in a temporary worktree that is removed at the end
  --static       leave out what needs running programs: no build, no control plane, no sidecar
  --json         print one JSON object in place of text
  --help         print this

Exit codes: 0 everything was measured; 1 something could not be measured, and the output says why;
2 wrong arguments, or a commit that does not exist.
`;

interface Options {
  /** The commit to measure; null: the current files. */
  readonly at: string | null;
  readonly staticOnly: boolean;
  readonly json: boolean;
}

export type MeasureArguments =
  | { readonly kind: 'run'; readonly options: Options }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string };

export function parseArguments(given: readonly string[]): MeasureArguments {
  let options: Options = { at: null, staticOnly: false, json: false };
  for (let at = 0; at < given.length; at++) {
    const argument = given[at] ?? '';
    if (argument === '--help' || argument === '-h') return { kind: 'help' };
    if (argument === '--static') options = { ...options, staticOnly: true };
    else if (argument === '--json') options = { ...options, json: true };
    else if (argument === '--at' || argument.startsWith('--at=')) {
      const commit = argument === '--at' ? given[++at] : argument.slice('--at='.length);
      if (commit === undefined || commit === '' || commit.startsWith('-'))
        return { kind: 'wrong', problem: '--at needs a commit after it' };
      options = { ...options, at: commit };
    } else return { kind: 'wrong', problem: `unknown argument ${argument}` };
  }
  return { kind: 'run', options };
}
