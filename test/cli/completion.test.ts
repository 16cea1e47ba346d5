// Tests what Tab offers, by the scripts themselves where the shell is installed.
import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { needs } from '../support/installed.ts';
import { temporaryFolder } from '../support/spools.ts';
import { jsonOf, run } from './cli.ts';

const script = async (shell: string): Promise<string> => (await run(['completion', shell])).out;

/** The candidates of bash after these words, the last of which is incomplete. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const quoted = ['tollgate', ...words].map((word) => `'${word}'`).join(' ');
  const text = `${await script('bash')}\nCOMP_WORDS=(${quoted})\nCOMP_CWORD=${words.length}\n_tollgate\nprintf '%s\\n' "\${COMPREPLY[@]}"\n`;
  return execFileSync('bash', ['--norc', '-c', text], { encoding: 'utf8', cwd: '/' }).trim().split('\n');
}

describe('bash', () => {
  test('the script is bash', async () => {
    const { status, stderr } = spawnSync('bash', ['-n'], { input: await script('bash'), encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test('offers commands, their commands, their options and those of every command', async () => {
    expect(await offered('')).toEqual(expect.arrayContaining(['policy', 'audit', 'profile', 'start', '--json', '--version', '--help']));
    expect(await offered('policy', '')).toEqual(expect.arrayContaining(['export', 'diff', 'apply', 'history', 'rollback', '--json']));
    expect(await offered('policy', 'ap')).toEqual(['apply']);
    expect(await offered('policy', 'apply', '--d')).toEqual(['--dry-run']);
    expect(await offered('policy', 'apply', '')).not.toContain('diff');
  });

  test('skips options and their values', async () => {
    expect(await offered('--url', 'audit', 'keys', '--json', 'cr')).toEqual(['create']);
    expect(await offered('--url', '')).toEqual(['']);
  });

  test('offers the values an option or argument can have, and files where it takes one', async () => {
    expect(await offered('keys', 'create', '--scope', 'si')).toEqual(['sidecar.library', 'sidecar.sync']);
    expect(await offered('audit', 'query', '--decision', '')).toEqual(['allow', 'deny']);
    expect(await offered('completion', 'f')).toEqual(['fish']);
    expect(await offered('policy', 'apply', '-f', 'et')).toEqual(['etc']);
  });
});

describe('other shells', () => {
  test('the zsh script is zsh', needs('zsh'), async () => {
    expect(spawnSync('zsh', ['-n'], { input: await script('zsh'), encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
  });

  test('the fish script is fish, and offers the candidates', needs('fish'), async () => {
    // fish reads no script from the standard input of a spawned process.
    const file = join(temporaryFolder(), 'tollgate.fish');
    writeFileSync(file, await script('fish'));
    const asked = (line: string) =>
      spawnSync('fish', ['--no-config', '-c', `source ${file}; complete -C ${JSON.stringify(line)}`], { encoding: 'utf8', cwd: '/' });
    expect(spawnSync('fish', ['-n', file], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(asked('tollgate policy ap')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^apply\b/) });
    expect(asked('tollgate keys create --scope sidecar').stdout).toMatch(/^sidecar\.library\b/);
  });

  test.each(['zsh', 'fish'])('the %s script knows every command and option', async (shell) => {
    const text = await script(shell);
    for (const word of ['policy rollback', 'audit export', 'dry-run', 'key-stdin', 'sidecar.sync', 'unfreeze'])
      expect(text).toContain(word);
  });

  test('an unknown shell is refused with the list of supported shells; --json wraps the script', async () => {
    expect(await run(['completion', 'tcsh'])).toMatchObject({ code: 1, err: expect.stringContaining('bash, zsh, fish') });
    expect(jsonOf(await run(['completion', 'bash', '--json']))).toMatchObject({
      shell: 'bash',
      script: expect.stringContaining('complete -o filenames'),
    });
  });
});
