// Forms of shell commands whose failure bash does not report. A page must not use them in blocks that run. Called by
// `blocks.ts`.
interface Form {
  readonly pattern: RegExp;
  readonly problem: string;
}

const forms: readonly Form[] = [
  { pattern: /&&/, problem: 'has `&&`, which hides the failure of what is before it; write two lines' },
  {
    pattern: /\b(?:export|declare|local|readonly|typeset)\s[^\n;|&]*(?:\$\((?!\()|`)/,
    problem: 'has `export NAME=$(…)`, which hides the failure of the command within; write `NAME=$(…); export NAME`',
  },
  { pattern: /[<>]\((?!\()/, problem: 'has `<(…)`, which hides the failure of the command within; write its output to a file first' },
];

/** The first refused form: its line, counted from 0, and what would be correct. */
export function findRefusedForm(commands: string): { readonly at: number; readonly problem: string } | null {
  const bare = withoutLiterals(commands);
  const found = forms.flatMap(({ pattern, problem }) => {
    const index = bare.search(pattern);
    return index === -1 ? [] : [{ at: bare.slice(0, index).split('\n').length - 1, problem }];
  });
  return found.toSorted((a, b) => a.at - b.at)[0] ?? null;
}

/** Removes here-documents, comments and quoted text, but keeps line ends and command substitutions. */
function withoutLiterals(commands: string): string {
  const keepLines = (text: string): string => text.replace(/[^\n]/g, '');
  return commands
    .replace(/(?<!<)(<<-?\s*(['"]?)(\w+)\2[^\n]*)\n[\s\S]*?\n\t*\3(?=\n|$)/g, (all: string, opening: string) =>
      opening.concat(keepLines(all.slice(opening.length))),
    )
    .replace(/\\.|'[^']*'|"(?:\\[\s\S]|[^"\\])*"|(?<=^|\s)#[^\n]*/gm, (part) =>
      part.startsWith('"') ? `""${keepLines(part)}${/\$\((?!\()|`/.test(part) ? '$(' : ''}` : keepLines(part),
    );
}
