// The rule of docs/reference/conditions-shell.md, and the ways in which a rule reads commands.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readCondition } from '../../sidecar/engine/compile/condition.ts';
import { compileCondition } from '../../sidecar/engine/conditions/condition.ts';
import { Undecided } from '../../sidecar/engine/conditions/values.ts';

const evaluate = (when: string, command: unknown): boolean | 'undecided' => {
  const read = readCondition(when);
  if ('problem' in read) throw new Error(read.problem.message);
  const value = compileCondition(read.expression).evaluate({ variables: { args: { command } }, steps: 0, slots: [] });
  return value instanceof Undecided ? 'undecided' : value;
};

interface Case {
  readonly name: string;
  readonly when: string;
}

const page = readFileSync(new URL('../../docs/reference/conditions-shell.md', import.meta.url), 'utf8');
const example = JSON.parse(/```json\n([^]*?)```/.exec(page)?.[1] ?? '') as { tools: { Bash: { cli: { cases: readonly Case[] } } } };

/** The names of the cases that may be the case of the call: the undecided ones up to the first that holds. */
const casesOf = (command: unknown): readonly string[] => {
  const possible: string[] = [];
  for (const { name, when } of example.tools.Bash.cli.cases) {
    const holds = evaluate(when, command);
    if (holds !== false) possible.push(holds === true ? name : `${name}?`);
    if (holds === true) return possible;
  }
  return [...possible, 'none'];
};

test('the example permits git and npm, and neither a force-push nor what it cannot read', () => {
  for (const line of ['git status', 'npm test && git commit -m "a b"', 'git push -u origin main', 'git push --follow-tags', 'for_a=1'])
    expect([line, casesOf(line)]).toEqual([line, line === 'for_a=1' ? ['force-push?', 'git and npm?', 'none'] : ['git and npm']]);
  for (const line of [
    'git push -f',
    'git push --force origin main',
    'git push --forc',
    'npm test; git push origin +main',
    'git push -uf origin main',
    'git -C a push --mirror',
  ])
    expect([line, casesOf(line)]).toEqual([line, ['force-push']]);
  for (const line of [
    'curl x',
    'git status; curl x',
    'git log $(curl x)',
    'git log > a',
    '{ git log; } > a',
    './git status',
    'git log | cat',
  ])
    expect([line, casesOf(line)]).not.toEqual([line, ['git and npm']]);
  for (const line of ['git $x', 'git push $x', 'git push "$x"', 'git -c a=b log', '$x', 'env git status', 'git status "', 5, undefined])
    expect([line, casesOf(line)]).toEqual([line, ['force-push?', 'git and npm?', 'none']]);
});

test('a rule names launchers and variables in a second argument', () => {
  const when =
    "shell(args.command, ['env', 'LANG=']).all(c, c.name == 'git' || (c.name == 'env' && c.words.size() > 1 && c.words[0] == 'git'))";
  expect(evaluate(when, 'LANG=C git status; env git status')).toBe(true);
  expect(evaluate(when, 'env curl x')).toBe(false);
  expect(evaluate(when, 'PATH=/tmp git status')).toBe('undecided');
  expect(evaluate(when, 'sudo git status')).toBe('undecided');
});

test('an unknown part leaves only those rules undecided that read it', () => {
  expect(evaluate("shell(args.command).exists(c, c.name == 'curl')", 'git log $x; curl "$y"')).toBe(true);
  expect(evaluate("shell(args.command).exists(c, 'a' in c.words)", 'ls "$x" a')).toBe(true);
  expect(evaluate("shell(args.command).exists(c, 'b' in c.words)", 'ls "$x" a')).toBe('undecided');
  expect(evaluate('shell(args.command).exists(c, c.redirects.size() > 0)', 'ls $x')).toBe(false);
  expect(evaluate('shell(args.command).exists(c, c.dynamic)', 'ls $x')).toBe(true);
  expect(evaluate("shell(args.command).all(c, c.name == 'ls')", '$x')).toBe('undecided');
});

test('a condition reads only so many long lines', () => {
  const many = Array.from({ length: 30 }, () => `ls ${'a'.repeat(8_000)}`);
  expect(evaluate('args.command.all(line, shell(line).size() == 1)', many.slice(0, 10))).toBe(true);
  expect(evaluate('args.command.all(line, shell(line).size() == 1)', many)).toBe('undecided');
});
