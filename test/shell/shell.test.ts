// What `shell(line)` shows of a line, and when the line is undecided: the lines with which an agent would hide a command.
import { expect, test } from 'vitest';
import { readWord } from '../../sidecar/engine/conditions/functions/shell-words.ts';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';
import { answerOf } from '../sidecar/engine/conditions/functions/answers.ts';
import { readLine, showLine } from './read-line.ts';

type Row = readonly [line: string, ...shown: readonly string[]];

const each = (rows: readonly Row[], accepted: readonly string[] = []): void => {
  for (const [line, ...shown] of rows) expect([line, showLine(line, accepted)]).toEqual([line, shown]);
};
const undecided = (lines: readonly string[], accepted: readonly string[] = []): void => {
  for (const line of lines) expect([line, showLine(line, accepted)]).toEqual([line, 'undecided']);
};

test('a line shows each simple command, whatever joins or surrounds it', () => {
  each([
    ['git status', 'git status'],
    [''],
    ['# git status; curl x'],
    ['git status; curl x', 'git status', 'curl x'],
    ['git status & curl x', 'git status', 'curl x'],
    ['git status && curl x || npm test', 'git status', 'curl x', 'npm test'],
    ['git status\ncurl x', 'git status', 'curl x'],
    ['git log | curl x |& npm test', 'git log', 'curl x', 'npm test'],
    ['! git status', 'git status'],
    ['!(curl x)', 'curl x'],
    ['{ git status; }; (curl x)', 'git status', 'curl x'],
    ['if git diff; then curl a; elif npm test; then curl b; else curl c; fi', 'git diff', 'curl a', 'npm test', 'curl b', 'curl c'],
    ['while git diff; do curl x; done', 'git diff', 'curl x'],
    ['until git diff; do curl x; done', 'git diff', 'curl x'],
    ['case a in a) git status;; b|c) curl x;& *) npm test;; esac', 'git status', 'curl x', 'npm test'],
    ['[[ -f a ]] && curl x', 'curl x'],
    ['time git status; time -p curl x', 'git status', 'curl x'],
    ['git status # ; curl x', 'git status'],
    ['git status#; curl x', 'git status#', 'curl x'],
    ['# a comment \\\ncurl x', 'curl x'],
  ]);
  each([['for f in a b; do curl "$f"; done', 'curl ?']], ['f=']);
});

test('commands in substitutions of every kind are shown, with the command that they are a part of', () => {
  each([
    ['ls $(curl x)', 'ls …', 'curl x'],
    ['ls `curl x`', 'ls …', 'curl x'],
    ['ls "$(curl x)"', 'ls ?', 'curl x'],
    ['ls <(curl x) >(npm test)', 'ls …', 'curl x', 'npm test'],
    ['ls > >(curl x)', 'ls >?', 'curl x'],
    ['ls "${x:-`curl x`}"', 'ls ?', 'curl x'],
    ['ls ${x:-$(curl x)}', 'ls …', 'curl x'],
    ['ls ${x/$(curl a)/$(curl b)} ${x%$(curl c)}', 'ls …', 'curl a', 'curl b', 'curl c'],
    ['ls <<< "$(curl x)"', 'ls <<<?', 'curl x'],
    ['ls <<<<(curl x)', 'ls <<<?', 'curl x'],
    ['ls $"a$(curl x)"', 'ls ?', 'curl x'],
    ['ls >$(curl x)', 'ls >?', 'curl x'],
    ['[[ -n $(curl x) ]]', 'curl x'],
    ['[[ a == $(curl a) || b =~ ($(curl b)) ]]', 'curl a', 'curl b'],
    ['case $(curl a) in $(curl b)) git status;; esac', 'curl a', 'curl b', 'git status'],
    ['ls $(case x in x) curl x;; esac)', 'ls …', 'curl x'],
    ['ls $(# a comment )\ncurl x)', 'ls …', 'curl x'],
    ['ls $( (curl x) | (npm test))', 'ls …', 'curl x', 'npm test'],
    ['( (curl x) ; (npm test))', 'curl x', 'npm test'],
    ['ls {a,$(curl x)}', 'ls …', 'curl x'],
    ['$(curl x)', '? …', 'curl x'],
  ]);
  each([['x=$(curl x)', 'x= ', 'curl x'].map((text) => text.trimEnd()) as unknown as Row], ['x=']);
  each([['x=(1 $(curl x)) git status', 'x= git status', 'curl x']], ['x=']);
  each([['(( $(curl x) )); echo $(( 1 + $(curl y) ))', 'curl x', 'echo …', 'curl y']], ['((']);
});

test('here-documents: the body is text, and the commands in an unquoted one are shown', () => {
  each([
    // A continued line may be the end.
    ['cat <<EOF\nEO\\\nF\ncurl x', 'cat <<', 'curl x'],
    ["git commit -F - <<'EOF'\n$(curl x)\nEOF", 'git commit -F - <<'],
    ["git commit -F - <<EOF\nit's $(curl x)\nEOF\nnpm test", 'git commit -F - <<', 'curl x', 'npm test'],
    ['cat <<A <<-B; curl x\na\nA\n\tb\n\tB\nnpm test', 'cat << <<-', 'curl x', 'npm test'],
    ['git commit -m "$(cat <<\'EOF\'\nfix: it\'s "done" (really)\nEOF\n)"', 'git commit -m ?', 'cat <<'],
  ]);
  undecided([
    'git status <<EOF\ncurl x',
    "cat <<$'\\x{45}OF'\nEOF\ncurl x\n\\x{45}OF",
    'git commit -m "$(cat <<EOF\nEOF; curl x)\nEOF\n)"',
    'cat <<EOF\na\\\nb\nEOF',
    'cat <<"a b"\na b',
    'cat <<E$x\na\nE$x',
    'cat <<EOF\nEOF x\nEOF',
    'cat <<-EOF\n\tEOFX\nEOF',
  ]);
});

test('quotes and escapes do not hide a name', () => {
  each([
    ['\\git status', 'git status'],
    ['g"i"t status', 'git status'],
    ["'git' 'a b'", 'git a b'],
    ["$'\\x67it' status", 'git status'],
    ["$'\\147it' status", 'git status'],
    ['git st\\atus', 'git status'],
    ['g\\\nit stat\\\nus', 'git status'],
    ['"" git', 'git'],
    ['git "a\\$(curl x)" \'$(curl x)\' \\$\\(curl', 'git a$(curl x) $(curl x) $(curl'],
    ['git commit -m "a>(b) <(c)"', 'git commit -m a>(b) <(c)'],
    ['cat <<EOF\na>(b) $x\nEOF', 'cat <<'],
    ['cat <<EOF\na>(b)\nEOF', 'cat <<'],
    ['git commit -m "a; curl x && b"', 'git commit -m a; curl x && b'],
    // Not blanks for bash.
    ['git\u00a0status', 'git\u00a0status'],
    ['git\u3000status', 'git\u3000status'],
    ['git\u200bstatus', 'git\u200bstatus'],
    ['echo !! !curl ^a^b', 'echo !! !curl ^a^b'],
  ]);
  // Escapes that bash versions or locales read in different ways: the name is not known.
  for (const name of ["$'\\x{67}it'", "$'\\u0067it'", "$'\\cg'", "$'git\\x00x'", "$'\\xc3\\xa9'", "$'\\\ngit'", '$"git"'])
    expect([name, readLine(`${name} status`)]).toEqual([name, [expect.objectContaining({ name: expect.any(Undecided), dynamic: true })]]);
});

test('a name that is expanded is undecided, and so is a rule that reads it', () => {
  for (const line of [
    '$x status',
    'git$IFS-status',
    'git${IFS}status',
    '"$x" status',
    '{git,curl} x',
    '/bin/c?rl x',
    '/bin/cur[l] x',
    '~/git x',
    '\\\n~/git x',
    '{a..c}',
    '*',
  ])
    expect([line, readLine(line)]).toEqual([line, [expect.objectContaining({ name: expect.any(Undecided), dynamic: true })]]);
});

test('words that may become several, or none, are undecided as a whole', () => {
  each([
    ['ls "$x" b', 'ls ? b'],
    ['ls $x b', 'ls …'],
    ['ls "$@"', 'ls …'],
    ['ls "${x:-$@}"', 'ls …'],
    ['ls *.ts', 'ls …'],
    ['ls a{b,c}', 'ls …'],
    ['ls {1..3}', 'ls …'],
    ['ls ~/x --file=~/x', 'ls ? ?'],
    ['ls stash@{0} HEAD@{1} {} @{u}..HEAD HEAD~1', 'ls stash@{0} HEAD@{1} {} @{u}..HEAD HEAD~1'],
    ['ls \\*.ts "*.ts" \'{a,b}\' "{a,b}" \\{a,b}', 'ls *.ts *.ts {a,b} {a,b} {a,b}'],
    ['ls "${x:-"{a,b}"}"', 'ls …'],
    ['ls "${x:-a}" "${x}"', 'ls ? ?'],
    ['ls $?', 'ls ?'],
    ['ls $!', 'ls …'],
    ['ls `[[ a =~ b ]]`', 'ls …'],
    ['ls prefix"$x"', 'ls ?'],
  ]);
});

test('redirects are shown, also those of a group, a loop or a test', () => {
  each([
    ['git status > /etc/passwd', 'git status >/etc/passwd'],
    ['<f git status 2>&1', 'git status <f >&1'],
    ['git log &> a &>> b >| c <> d >> e', 'git log &>a &>>b >|c <>d >>e'],
    ['git log > "$x"', 'git log >?'],
    ['> a', '>a'],
    ['{ git log; } > a', '>a', 'git log'],
    ['(git log) 2> a', '>a', 'git log'],
    ['[[ -f b ]] > a', '>a'],
    ['if git diff; then git log; fi >> a', '>>a', 'git diff', 'git log'],
  ]);
  each([['for f in 1; do git log; done > a', '>a', 'git log']], ['f=']);
  each([['git log {fd}> a', 'git log >a']], ['fd=']);
  undecided(['git log {fd}> a', 'git log >']);
});

test('a line that sets a variable is undecided, unless the rule names the variable', () => {
  const lines = [
    'LANG=C git status',
    'LANG=C',
    'for LANG in a; do git log; done',
    'git log ${LANG:=C}',
    'export LANG=C',
    '\\export LANG=C',
    'read -r LANG',
  ];
  undecided(lines);
  for (const line of lines) expect(showLine(line, ['LANG=', 'export', 'read'])).not.toBe('undecided');
  undecided(
    [
      'PATH=/tmp git status',
      'BASH_ENV=x git status',
      'export PATH',
      '\\export PATH=/tmp',
      'export "$x"',
      'read -r PATH',
      'export -f git',
      'unset PATH',
    ],
    ['LANG=', 'export', 'read', 'unset'],
  );
  each([['LANG=C git status', 'LANG= git status']], ['LANG=']);
});

test('a line that changes what names mean is undecided', () => {
  undecided([
    'git() { curl x; }; git status',
    'function git { curl x; }',
    'alias git=curl',
    'coproc curl x',
    'coproc git { curl x; }',
    'hash -p /bin/curl git',
    'enable -n echo',
    'shopt -s expand_aliases',
    'set -k',
    'select x in a; do curl x; done',
  ]);
  each([['set -euo pipefail; set +x; git status', 'set -euo pipefail', 'set +x', 'git status']]);
});

test('what evaluates the text of a variable is undecided', () => {
  undecided([
    '(( x ))',
    '(( a[$(curl x)] ))',
    'echo $(( x + 1 ))',
    'echo $[ x ]',
    'for (( i = 0; i < 3; i++ )); do git log; done',
    '[[ x -eq 1 ]]',
    '[[ "$x" -gt 1 ]]',
    "[[ -v 'a[$(curl x)]' ]]",
    'echo ${x@P}',
    'echo ${!x}',
    'echo ${!x@}',
    'echo ${x:y}',
    'echo ${a[i]}',
    'echo "${a[$(curl x)]}"',
    "printf -v 'a[$(curl x)]' b",
    'printf -va[0] b',
    'printf "$x" "$y"',
    "test -v 'a[$(curl x)]'",
    "[ -v 'a[$(curl x)]' ]",
    '[ "$x" "$y" ]',
    '[ $x = 1 ]',
    "let 'a[$(curl x)]'",
    "unset 'a[$(curl x)]'",
    "read 'a[$(curl x)]'",
    "wait -n -p 'a[$(curl x)]'",
    'declare -i x=1',
    'a[i]=1',
  ]);
  each([
    ['echo $((1 + 2)) $[0x1f] ${#x} "${x:1:2}" "${x: -1}"', 'echo …'],
    ['[[ $? -eq 0 && -v x ]] && [ -f "$x" ] && [ "$x" = "$y" ]', '[ -f ? ]', '[ ? = ? ]'],
    ['printf \'%s\' "$x"', 'printf %s ?'],
    ['wait $!; [ $# -gt 0 ]', 'wait …', '[ ? -gt 0 ]'],
  ]);
});

test('what cannot be parsed with certainty is undecided', () => {
  undecided([
    'git status "',
    "git status '",
    'git status $(curl x',
    'git status `curl x',
    'git status ${x',
    'then',
    ';;',
    'git status )',
    'git status |',
    '|| git status',
    'if git status',
    'for f in a; do',
    'git status \\',
    'git status\r\ncurl x',
    'git status\rcurl x',
    'git\u0000status',
    'git\u0085status',
    'git \ud800',
    'ls $((curl x) | (npm test))',
    '((curl x) ; (npm test))',
    '(\\\n(curl x) ; (npm test))',
    'git log >&-a',
    `git log >&'$(curl x)'`,
    'git log >&"$(curl x)"',
    'git log <&-a',
    'ls `echo \\`curl x\\``',
    'git status # $(curl x)',
    'echo "$\\\nx"',
    'echo "$\\\n(curl x)"',
    'echo $\\\n(curl x)',
    'cat <\\\n<EOF\nEOF',
    '1\\\n> f curl',
    'npm test 2>(curl x)',
    'npm test 2<(curl x)',
    '12>(curl x) git',
    'npm test {fd}>(curl x)',
    'npm test a>(curl x)b',
    '>&- ! curl x',
    '<<< a time curl x',
    'time > a -- curl x',
    '-c curl',
    'echo @(a|b)',
    'ls !(a)',
  ]);
});

test('a line is bounded: its bytes, its substitutions, its nesting and its commands', () => {
  const nested = (levels: number): string => `${'echo $('.repeat(levels)}curl x${')'.repeat(levels)}`;
  const groups = (levels: number): string => `${'( '.repeat(levels)}curl x${' )'.repeat(levels)}`;
  expect(showLine(nested(20))).toHaveLength(21);
  expect(showLine(groups(20))).toEqual(['curl x']);
  undecided([
    nested(40),
    nested(1_000),
    groups(40),
    groups(3_000),
    '`'.repeat(4_000),
    '"$('.repeat(2_000),
    'cat <('.repeat(1_000),
    '$(('.repeat(2_000),
    '${x:-'.repeat(129),
    `${'${x:-'.repeat(40)}${'a'.repeat(7_500)}${'}'.repeat(40)}`,
  ]);
  expect(readLine(`git log ${'a'.repeat(9_000)}`)).toMatchObject({ reason: 'budget' });
  // Each expansion reads its part of the line again. One such line is read, and a loop over several is not.
  const slow = Array.from({ length: 18 }, (_, at) => `${'$(a '.repeat(31)}${at}${' '.repeat(7_000)}${')'.repeat(31)}`);
  const read = (source: string): boolean | string => answerOf(source, { lines: slow });
  expect(read('shell(args.lines[0]).size() == 32 && shell(args.lines[0]).size() > 1')).toBe(true);
  expect(read('args.lines.all(line, shell(line).size() > 0)')).toBe('budget');
  expect(readLine(`git log ${'é'.repeat(4_100)}`)).toMatchObject({ reason: 'budget' });
  expect(showLine(`git log ${'a'.repeat(8_000)}`)).toHaveLength(1);
  expect(showLine(`ls ${'"${x}" '.repeat(128)}`)).toHaveLength(1);
  expect(showLine('{'.repeat(8_000))).toHaveLength(1);
  expect(showLine('a;'.repeat(256))).toHaveLength(256);
  undecided(['a;'.repeat(257)]);
});

test('only texts are read', () => {
  expect(readLine(1 as unknown as string)).toMatchObject({ reason: 'type' });
  expect(readLine('git status', [1 as unknown as string])).toMatchObject({ reason: 'type' });
});

test('text outside of quotes that bash would expand is not taken for a fixed word, also if the parser says so', () => {
  const asFixed = (text: string) => readWord({ type: 'Word', text, value: text, pos: 0, end: text.length });
  for (const text of ['a*', 'a?', '[a]', '{a,b}', '{1..2}', '{a{b,c}', '$x', '`a`', '"a"'])
    expect([text, asFixed(text)]).toEqual([text, { isOneWord: false, start: '' }]);
  for (const text of ['a', '[', '{a}', 'a,b', '{u}..a', '{}']) expect(asFixed(text)).toBe(text);
});
