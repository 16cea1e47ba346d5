// Builds completion scripts for three shells from one description of the commands. Each script finds the command from
// the words that were typed so far, skips options and their values, and offers the words of that command.
import type { Command, Option } from 'commander';

interface Flag {
  readonly names: readonly string[];
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  /** Whether the option's value is a path. */
  readonly path: boolean;
  readonly words: string;
}

interface Node {
  /** The words that name the command, such as `policy apply`; empty for the program. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly words: string }[];
  readonly flags: readonly Flag[];
  readonly choices: readonly string[];
}

/** Returns every command, the program first. Each has the program's options too. */
export function treeOf(program: Command): readonly Node[] {
  const shared = flagsOf(program);
  const visit = (command: Command, path: string): readonly Node[] => [
    {
      path,
      commands: command.commands.map((one) => ({ name: one.name(), words: one.description() })),
      flags: path === '' ? shared : [...flagsOf(command), ...shared.filter(({ names }) => !names.includes('--version'))],
      choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    },
    ...command.commands.flatMap((one) => visit(one, `${path} ${one.name()}`.trim())),
  ];
  return visit(program, '');
}

const help: Flag = { names: ['-h', '--help'], takesValue: false, choices: [], path: false, words: 'display help for command' };

const flagsOf = (command: Command): readonly Flag[] => [...command.options.map(flagOf), ...(command.parent === null ? [help] : [])];

const flagOf = ({ short, long, required, optional, argChoices, flags, description }: Option): Flag => ({
  names: [short, long].filter((name) => name !== undefined && name !== null),
  takesValue: required || optional,
  choices: argChoices ?? [],
  path: /<(?:file|path)/.test(flags),
  words: description,
});

const namesWith = (tree: readonly Node[], which: (flag: Flag) => boolean): readonly string[] => [
  ...new Set(tree.flatMap(({ flags }) => flags.filter(which).flatMap(({ names }) => names))),
];

const wordsOf = ({ commands, flags, choices }: Node): string =>
  [...commands.map(({ name }) => name), ...choices, ...flags.flatMap(({ names }) => names)].join(' ');

/** Returns the `case` pattern that recognises a command's path from its words, for bash and zsh. */
const pathCases = (tree: readonly Node[]): string =>
  tree
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|');

const valueCases = (tree: readonly Node[]): readonly string[] => {
  const choices = new Map(
    tree.flatMap(({ flags }) =>
      flags
        .filter((flag) => flag.choices.length > 0)
        .flatMap(({ names, choices }) => names.map((name) => [name, choices.join(' ')] as const)),
    ),
  );
  return [...choices].map(([name, words]) => `    ${name}) words='${words}' ;;`);
};

const walk = (tree: readonly Node[], word: string, last: string): string => `  while [ "$i" -lt "${last}" ]; do
    word=${word}
    i=$((i + 1))
    case "$word" in
      ${namesWith(tree, ({ takesValue }) => takesValue).join('|')}) i=$((i + 1)); continue ;;
      -*) continue ;;
    esac
    next="\${at:+$at }$word"
    case "$next" in
      ${pathCases(tree)}) at=$next ;;
    esac
  done`;

const commandCases = (tree: readonly Node[]): string => tree.map((node) => `    '${node.path}') words='${wordsOf(node)}' ;;`).join('\n');

export const bashScript = (tree: readonly Node[]): string => `# tollgate: completion for bash. Use: source <(tollgate completion bash)
# Not by mapfile, which the bash of macOS does not have.
_tollgate_offer() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@")
}
_tollgate() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} at='' i=1 word next words=''
  COMPREPLY=()
${walk(tree, '${COMP_WORDS[i]}', '$COMP_CWORD')}
  case "$prev" in
    ${namesWith(tree, ({ path }) => path).join('|')}) _tollgate_offer -f -- "$cur"; return ;;
${valueCases(tree).join('\n')}
    ${namesWith(tree, ({ takesValue, path, choices }) => takesValue && !path && choices.length === 0).join('|')}) return ;;
  esac
  [ -n "$words" ] || case "$at" in
${commandCases(tree)}
  esac
  _tollgate_offer -W "$words" -- "$cur"
}
complete -o filenames -F _tollgate tollgate`;

export const zshScript = (tree: readonly Node[]): string => `#compdef tollgate
# tollgate: completion for zsh. Use: source <(tollgate completion zsh)
_tollgate() {
  local at='' i=2 word next words_='' prev=\${words[CURRENT-1]}
${walk(tree, '${words[i]}', '$CURRENT')}
  case "$prev" in
    ${namesWith(tree, ({ path }) => path).join('|')}) _files; return ;;
${valueCases(tree).join('\n').replaceAll(' words=', ' words_=')}
    ${namesWith(tree, ({ takesValue, path, choices }) => takesValue && !path && choices.length === 0).join('|')}) return ;;
  esac
  [ -n "$words_" ] || case "$at" in
${commandCases(tree).replaceAll(' words=', ' words_=')}
  esac
  compadd -- \${=words_}
}
compdef _tollgate tollgate`;

const quote = (text: string): string => `'${text.replaceAll(/['\\]/g, (character) => `\\${character}`)}'`;

export const fishScript = (tree: readonly Node[]): string => {
  const lines = tree.flatMap((node) => {
    const when = `complete -c tollgate -n ${quote(`test "$(__tollgate_at)" = "${node.path}"`)}`;
    return [
      ...node.commands.map(({ name, words }) => `${when} -f -a ${name} -d ${quote(words)}`),
      ...node.choices.map((choice) => `${when} -f -a ${quote(choice)}`),
      ...node.flags.map((flag) => `${when} ${fishFlag(flag)}`),
    ];
  });
  return `# tollgate: completion for fish. Use: tollgate completion fish | source
function __tollgate_at
  set -l words (commandline -opc)
  set -e words[1]
  set -l at
  set -l skip 0
  for word in $words
    if test $skip = 1
      set skip 0
      continue
    end
    switch $word
      case ${namesWith(tree, ({ takesValue }) => takesValue).join(' ')}
        set skip 1
      case '-*'
      case '*'
        switch (string join ' ' $at $word)
          case ${tree.flatMap(({ path }) => (path === '' ? [] : [quote(path)])).join(' ')}
            set -a at $word
        end
    end
  end
  string join ' ' $at
end
complete -c tollgate -f
${lines.join('\n')}`;
};

function fishFlag({ names, takesValue, choices, path, words }: Flag): string {
  const forms = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = choices.length > 0 ? `-x -a ${quote(choices.join(' '))}` : path ? '-r -F' : takesValue ? '-x' : '';
  return [...forms, value, `-d ${quote(words)}`].filter((part) => part !== '').join(' ');
}
