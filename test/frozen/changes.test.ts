// A change of a frozen file needs a line of the CHANGELOG: `npm run frozen` requires it, and `.ci/frozen-changelog`
// checks every commit. Both are tested in repositories of their own.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/spools.ts';
import { runFrozen } from './command.ts';

const script = fileURLToPath(new URL('../../.ci/frozen-changelog', import.meta.url));

/** Without this machine's configuration of git, and without a repository that a hook of git names. */
const env = {
  PATH: process.env['PATH'],
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_AUTHOR_NAME: 'ann',
  GIT_AUTHOR_EMAIL: 'ann@acme.test',
  GIT_COMMITTER_NAME: 'ann',
  GIT_COMMITTER_EMAIL: 'ann@acme.test',
};

function run(root: string, program: string, ...words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(program, words, { cwd: root, env, encoding: 'utf8' });
  return { status, said: `${stdout}${stderr}` };
}

/** Creates a repository with a frozen file in its first commit. */
function createRepository() {
  const root = temporaryFolder();
  const git = (...words: readonly string[]): void => {
    const { status, said } = run(root, 'git', ...words);
    if (status !== 0) throw new Error(`git ${words.join(' ')}: ${said}`);
  };
  const write = (files: Readonly<Record<string, string | null>>): void => {
    for (const [name, text] of Object.entries(files)) {
      if (text === null) rmSync(join(root, name));
      else writeFileSync(join(root, name), text);
    }
  };
  const commit = (title: string, files: Readonly<Record<string, string | null>>): void => {
    write(files);
    git('add', '--all');
    git('commit', '--quiet', '--message', title);
  };
  git('init', '--quiet', '--initial-branch=main');
  mkdirSync(join(root, '.ci'));
  mkdirSync(join(root, 'test/frozen'), { recursive: true });
  cpSync(script, join(root, '.ci/frozen-changelog'));
  commit('freeze', { 'test/frozen/codes.txt': 'one\n', 'CHANGELOG.md': '# Changelog\n' });
  const check = () => run(root, join(root, '.ci/frozen-changelog'));
  return { root, git, write, commit, check };
}

test('commits that change frozen files and add a line to the CHANGELOG pass, and so do those that introduce one', () => {
  const { commit, check } = createRepository();
  expect(check()).toEqual({ status: 0, said: '0 changes of frozen files, each said in CHANGELOG.md\n' });
  commit('introduce', { 'test/frozen/more.json': '{}\n' });
  commit('elsewhere', { 'README.md': 'words\n' });
  commit('say', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '# Changelog\n\n- codes: two\n' });
  expect(check()).toEqual({ status: 0, said: '1 changes of frozen files, each said in CHANGELOG.md\n' });
});

test.each([
  ['changes one', { 'test/frozen/codes.txt': 'two\n' }],
  ['removes one', { 'test/frozen/codes.txt': null }],
  ['renames one', { 'test/frozen/codes.txt': null, 'test/frozen/other.txt': 'one\n' }],
  ['changes one, and only removes a line of the CHANGELOG', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '' }],
  ['changes one, and adds a line on another matter', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '# Changelog\n\n- fix: words\n' }],
  ['changes one, and names another', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '# Changelog\n\n- metrics: encodes\n' }],
  ['changes one, and only adds a blank line to the CHANGELOG', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '# Changelog\n\n' }],
])('a commit that %s is named, also when a later one adds the line', (title, files) => {
  const { commit, check } = createRepository();
  commit(title, files);
  commit('say it late', { 'CHANGELOG.md': '# Changelog\n\n- late\n' });
  const { status, said } = check();
  expect(status).toBe(1);
  expect(said).toMatch(
    new RegExp(
      `^[0-9a-f]{7,} ${title}: changes test/frozen/codes.txt and adds no line to CHANGELOG.md that names it \\(codes.txt, or: codes\\?\\)$`,
      'm',
    ),
  );
  expect(said).toContain('add a line to CHANGELOG.md in the same commit');
});

test('a file that is introduced again existed before: the CHANGELOG must mention it', () => {
  const { commit, check } = createRepository();
  commit('remove', { 'test/frozen/codes.txt': null, 'CHANGELOG.md': '# Changelog\n\n- codes.txt is gone\n' });
  expect(check().status).toBe(0);
  commit('bring back', { 'test/frozen/codes.txt': 'one\n' });
  expect(check()).toMatchObject({ status: 1, said: expect.stringContaining('bring back: changes test/frozen/codes.txt') });
});

test('commits of a merged branch are checked, and so are changes of the merge itself', () => {
  const { git, write, commit, check } = createRepository();
  git('checkout', '--quiet', '-b', 'branch');
  commit('said on the branch', { 'test/frozen/codes.txt': 'two\n', 'CHANGELOG.md': '# Changelog\n\n- codes: two\n' });
  git('checkout', '--quiet', 'main');
  commit('elsewhere', { 'README.md': 'words\n' });
  git('merge', '--quiet', '--no-ff', '--message', 'merge', 'branch');
  expect(check().status).toBe(0);
  git('checkout', '--quiet', '-b', 'second');
  commit('on the second branch', { 'README.md': 'more\n' });
  git('checkout', '--quiet', 'main');
  commit('on main', { 'notes.md': 'more\n' });
  git('merge', '--quiet', '--no-ff', '--no-commit', 'second');
  write({ 'test/frozen/codes.txt': 'three\n' });
  git('add', '--all');
  git('commit', '--quiet', '--message', 'merge with a change');
  expect(check()).toMatchObject({ status: 1, said: expect.stringContaining('merge with a change: changes test/frozen/codes.txt') });
});

test('a fresh clone is enough; a shallow one is refused, with what to do', () => {
  const { root, commit } = createRepository();
  commit('change', { 'test/frozen/codes.txt': 'two\n' });
  const clones = temporaryFolder();
  for (const [name, depth] of [['whole', []] as const, ['shallow', ['--depth=1']] as const])
    run(clones, 'git', 'clone', '--quiet', ...depth, `file://${root}`, name);
  const check = (name: string) => run(clones, join(clones, name, '.ci/frozen-changelog'));
  expect(check('whole')).toMatchObject({ status: 1, said: expect.stringContaining('change: changes test/frozen/codes.txt') });
  expect(check('shallow')).toMatchObject({ status: 1, said: expect.stringContaining('this clone is shallow; run: git fetch --unshallow') });
});

test('outside of a repository it fails', () => {
  const root = temporaryFolder();
  mkdirSync(join(root, '.ci'));
  cpSync(script, join(root, '.ci/frozen-changelog'));
  expect(run(root, join(root, '.ci/frozen-changelog')).status).not.toBe(0);
});

/** Runs `npm run frozen` in a repository of its own, where the code makes `made`. */
async function frozen(root: string, words: readonly string[], made: Readonly<Record<string, string>>) {
  const said: string[] = [];
  const code = await runFrozen(words, {
    folder: join(root, 'test/frozen'),
    root,
    make: async () => new Map(Object.entries(made)),
    say: (text) => void said.push(text),
  });
  return { code, said: said.join('') };
}

test('the command reports what differs and what to do, and writes nothing without --write', async () => {
  const { root } = createRepository();
  expect(await frozen(root, [], { 'codes.txt': 'one\n' })).toEqual({ code: 0, said: '1 frozen files are as the code is\n' });
  expect(await frozen(root, [], { 'codes.txt': 'two\n' })).toEqual({
    code: 1,
    said:
      'test/frozen/codes.txt differs from the code (-: the file, +: the code)\n@@ -1 +1 @@\n-one\n+two\n' +
      'run npm run frozen -- --write, and say the change in CHANGELOG.md\n',
  });
  expect(readFileSync(join(root, 'test/frozen/codes.txt'), 'utf8')).toBe('one\n');
});

test('with --write it writes what changed, and fails until the CHANGELOG has one more line than at HEAD', async () => {
  const { root, write, commit } = createRepository();
  write({ 'test/frozen/extra.txt': 'words\n' });
  const made = { 'codes.txt': 'two\n', 'new.json': '{}\n' };
  const first = await frozen(root, ['--write'], made);
  expect(first).toEqual({
    code: 1,
    said:
      'codes.txt was changed\nextra.txt was removed\nnew.json is new\n' +
      'CHANGELOG.md has no new line for this: add one, in the same commit\n',
  });
  expect(await frozen(root, [], made)).toMatchObject({ code: 0 });
  expect(await frozen(root, ['--write'], made)).toMatchObject({ code: 1, said: expect.stringContaining('CHANGELOG.md has no new line') });
  write({ 'CHANGELOG.md': '# Changelog\n\n- codes: two\n' });
  expect(await frozen(root, ['--write'], made)).toEqual({ code: 0, said: '2 frozen files are as the code is\n' });
  commit('say', {});
  expect(await frozen(root, ['--write'], made)).toMatchObject({ code: 0 });
});

test('where git cannot report what changed, the command says so and fails', async () => {
  const root = temporaryFolder();
  mkdirSync(join(root, 'test/frozen'), { recursive: true });
  expect(await frozen(root, ['--write'], { 'codes.txt': 'one\n' })).toMatchObject({
    code: 1,
    said: expect.stringContaining('git cannot say what changed since HEAD'),
  });
});

test.each([[['--wirte']], [['codes.txt']], [['--write', 'codes.txt']]])('unknown arguments are refused: %j', async (words) => {
  const { root } = createRepository();
  const { code, said } = await frozen(root, words, { 'codes.txt': 'two\n' });
  expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining('is not an argument of npm run frozen') });
  expect(readFileSync(join(root, 'test/frozen/codes.txt'), 'utf8')).toBe('one\n');
});
