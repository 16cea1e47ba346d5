// Codex stores trust in a hook by its position. Whatever we install and remove, each hook of the user keeps its own
// trust.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hookHash, stateKey, trustOf } from '../../cli/hooks/codex-trust.ts';
import { type Place, placesIn, statesIn } from '../../cli/hooks/hook-places.ts';
import { parseToml } from '../../cli/hooks/edit-toml.ts';
import { keyText } from '../support/snapshots.ts';
import { folder, run } from './cli.ts';

const self = '"/usr/bin/node" "/opt/tollgate/bin.js"';
const file = '.codex/config.toml';

function machine() {
  const [home, cwd] = [folder(), folder()];
  const hooks = async (verb: string, ...more: readonly string[]) =>
    run(['hooks', verb, 'codex', ...more], { env: { TOLLGATE_KEY: keyText('key1') }, home, cwd, self });
  const write = (base: string, text: string): void => {
    mkdirSync(dirname(join(base, file)), { recursive: true });
    writeFileSync(join(base, file), text);
  };
  const read = (base: string): string => readFileSync(join(base, file), 'utf8');
  return { home, cwd, hooks, write, read };
}

const hook = (event: string, command: string): string =>
  `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = "${command}"\n`;
const commandOf = ({ handler }: Place): string => (handler as { readonly command: string }).command;
const places = (text: string): readonly Place[] => placesIn(parseToml(text));
const place = (text: string, command: string): Place => {
  const found = places(text).find((one) => commandOf(one).includes(command));
  if (found === undefined) throw new Error(`no hook ${command}`);
  return found;
};

/** The lines that Codex writes once the user has trusted a hook of `text`, and disabled it. */
const trusted = (path: string, text: string, command: string): string =>
  `[hooks.state."${stateKey(path, place(text, command))}"]\ntrusted_hash = "${hookHash(place(text, command))}"\n`;
const disabled = (path: string, text: string, command: string): string =>
  `[hooks.state."${stateKey(path, place(text, command))}"]\nenabled = false\n`;

const trust = (states: string, path: string, text: string, command: string): string =>
  trustOf(statesIn(parseToml(states)), [path], place(text, command));

describe('a hook of the user after ours', () => {
  test('keeps its trust through a second install with other options, and through uninstall', async () => {
    const { home, hooks, write, read } = machine();
    const path = join(home, file);
    write(home, 'model = "a"\n');
    await hooks('install');
    const text = `${read(home)}\n${hook('PreToolUse', 'mine')}`;
    write(home, `${text}\n${disabled(path, text, 'hook codex')}\n${trusted(path, text, 'mine')}`);
    expect(await hooks('install', '--agent', 'other')).toMatchObject({ code: 0 });
    expect(places(read(home)).map(({ event, group }) => [event, group])).toEqual([
      ['PreToolUse', 0],
      ['PreToolUse', 1],
      ['PostToolUse', 0],
    ]);
    expect(commandOf(place(read(home), 'hook codex'))).toContain('--agent other');
    expect(trust(read(home), path, read(home), 'mine')).toBe('trusted');
    expect(trust(read(home), path, read(home), 'hook codex')).toBe('disabled');
    expect(await hooks('uninstall')).toMatchObject({ code: 0 });
    const without = `model = "a"\n\n${hook('PreToolUse', 'mine')}`;
    expect(read(home)).toBe(`${without}\n${trusted(path, without, 'mine')}`);
  });

  test('in a folder, whose trust is stored in the settings of the user', async () => {
    const { home, cwd, hooks, write, read } = machine();
    const path = join(cwd, file);
    await hooks('install', '--project');
    const text = `${read(cwd)}\n${hook('PreToolUse', 'mine')}`;
    write(cwd, text);
    const others = `[hooks.state."/elsewhere/config.toml:pre_tool_use:1:0"]\ntrusted_hash = "sha256:00"\n`;
    write(home, `${others}\n${trusted(path, text, 'hook codex')}\n${trusted(path, text, 'mine')}`);
    expect(await hooks('install', '--project', '--agent', 'other')).toMatchObject({ code: 0 });
    expect(trust(read(home), path, read(cwd), 'mine')).toBe('trusted');
    expect(await hooks('uninstall', '--project')).toMatchObject({ code: 0 });
    expect(read(cwd)).toBe(hook('PreToolUse', 'mine'));
    expect(read(home)).toBe(`${others}\n${trusted(path, read(cwd), 'mine')}`);
  });

  test('in the folder that is the home of the user: a state moves only once', async () => {
    const { home, write, read } = machine();
    const path = join(home, file);
    const hooks = async (verb: string) =>
      run(['hooks', verb, 'codex', '--project'], { env: { TOLLGATE_KEY: keyText('key1') }, home, cwd: home, self });
    await hooks('install');
    const text = `${read(home)}\n${hook('PreToolUse', 'mine')}\n${hook('PreToolUse', 'more')}`;
    write(home, `${text}\n${trusted(path, text, 'mine')}\n${trusted(path, text, 'more')}`);
    await hooks('uninstall');
    expect(['mine', 'more'].map((command) => trust(read(home), path, read(home), command))).toEqual(['trusted', 'trusted']);
    expect(read(home)).not.toContain('hook codex');
  });

  test('that follows ours because the user moved ours is trusted again after ours are removed', async () => {
    const { home, hooks, write, read } = machine();
    const path = join(home, file);
    const before = hook('PreToolUse', 'mine');
    await hooks('install');
    write(home, `${read(home)}\n${before}\n${trusted(path, before, 'mine')}`);
    expect(trust(read(home), path, read(home), 'mine')).toBe('untrusted');
    await hooks('uninstall');
    expect(read(home)).toBe(`${before}\n${trusted(path, before, 'mine')}`);
  });

  test.each(['home', 'cwd'] as const)(
    'in a folder: where the settings in %s cannot be written both files stay unchanged',
    async (which) => {
      const { cwd, home, hooks, write, read } = machine();
      const path = join(cwd, file);
      await hooks('install', '--project');
      const text = `${read(cwd)}\n${hook('PreToolUse', 'mine')}`;
      write(cwd, text);
      write(home, trusted(path, text, 'mine'));
      chmodSync(join({ home, cwd }[which], file), 0o444);
      expect(await hooks('uninstall', '--project')).toMatchObject({ code: 1, err: expect.stringContaining('is read-only') });
      expect([read(cwd), read(home)]).toEqual([text, trusted(path, text, 'mine')]);
    },
  );

  test('and after two of ours, of which a second install keeps the first', async () => {
    const { home, cwd, hooks, write, read } = machine();
    const path = join(cwd, file);
    await hooks('install', '--project');
    const text = `${read(cwd)}\n${hook('PreToolUse', 'tollgate hook codex')}\n${hook('PreToolUse', 'mine')}`;
    write(cwd, text);
    write(home, trusted(path, text, 'mine'));
    await hooks('install', '--project', '--agent', 'other');
    expect(places(read(cwd)).filter(({ event }) => event === 'PreToolUse')).toHaveLength(2);
    expect(trust(read(home), path, read(cwd), 'mine')).toBe('trusted');
  });
});

describe('a hook of the user in our group', () => {
  const shared = (text: string): string =>
    text.replace(
      /(\[\[hooks\.PreToolUse\.hooks\]\](?:\n.+){3}\n)/,
      '$1[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "mine" # theirs\n',
    );
  const left = '[[hooks.PreToolUse]]\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "mine" # theirs\n';

  test('stays in a group of its own with its trust, without any text of ours', async () => {
    const { home, hooks, write, read } = machine();
    const path = join(home, file);
    await hooks('install');
    const text = shared(read(home));
    write(home, `${text}\n${trusted(path, text, 'hook codex')}\n${trusted(path, text, 'mine')}`);
    await hooks('install', '--agent', 'other');
    expect(trust(read(home), path, read(home), 'mine')).toBe('trusted');
    expect(await hooks('uninstall')).toMatchObject({ code: 0 });
    expect(read(home)).toBe(`${left}\n${trusted(path, left, 'mine')}`);
  });

  test('that has a matcher keeps it, and ours moves to a group of its own', async () => {
    const { home, hooks, write, read } = machine();
    const path = join(home, file);
    await hooks('install');
    const text = shared(read(home)).replace(/^(\[\[hooks\.PreToolUse\]\].*\n)/, '$1matcher = "Bash"\n');
    write(home, `${text}\n${trusted(path, text, 'mine')}`);
    await hooks('install', '--agent', 'other');
    expect(place(read(home), 'mine').table).toMatchObject({ matcher: 'Bash' });
    expect(place(read(home), 'hook codex').table).not.toHaveProperty('matcher');
    expect(trust(read(home), path, read(home), 'mine')).toBe('trusted');
  });
});

describe('state in another form', () => {
  const state = (path: string, text: string): readonly (readonly [string, string])[] => [
    [stateKey(path, place(text, 'hook codex')), `trusted_hash = "${hookHash(place(text, 'hook codex'))}"`],
    [stateKey(path, place(text, 'mine')), `enabled = false, trusted_hash = "${hookHash(place(text, 'mine'))}"`],
  ];
  const forms = {
    'an inline table': (all: ReturnType<typeof state>) =>
      `[hooks]\nstate = { ${all.map(([key, said]) => `"${key}" = { ${said} }`).join(', ')} } # why\n`,
    'lines of one table': (all: ReturnType<typeof state>) =>
      `[hooks.state]\n${all.map(([key, said]) => `'${key}' = { ${said} }\n`).join('')}`,
    'dotted keys': (all: ReturnType<typeof state>) =>
      all.flatMap(([key, said]) => said.split(', ').map((one) => `hooks.state."${key}".${one}\n`)).join(''),
    'dotted keys of an inline table': (all: ReturnType<typeof state>) =>
      `[hooks]\nstate = { ${all.flatMap(([key, said]) => said.split(', ').map((one) => `"${key}".${one}`)).join(', ')} }\n`,
  };
  test.each(Object.entries(forms))('%s', async (_, form) => {
    const { home, hooks, write, read } = machine();
    const path = join(home, file);
    await hooks('install');
    const text = `${read(home)}\n${hook('PreToolUse', 'mine')}`;
    write(home, `${form(state(path, text))}\n${text}`);
    await hooks('install', '--agent', 'other');
    expect(trust(read(home), path, read(home), 'mine')).toBe('disabled');
    expect(await hooks('uninstall')).toMatchObject({ code: 0 });
    const without = hook('PreToolUse', 'mine');
    const key = stateKey(path, place(without, 'mine'));
    expect(read(home)).toBe(`${form([[key, state(path, text)[1]?.[1] ?? '']])}\n${without}`);
  });

  test('state that cannot be edited is refused before anything is written', async () => {
    const { home, cwd, hooks, write, read } = machine();
    const path = join(cwd, file);
    await hooks('install', '--project');
    const text = `${read(cwd)}\n${hook('PreToolUse', 'mine')}`;
    write(cwd, text);
    // A key that spans two lines of text, as no token of it is read.
    const key = stateKey(path, place(text, 'mine')).replace(':pre_tool_use:', '\\u003apre_tool_use\\u003a');
    const states = `[hooks.state."${key}"]\nenabled = false\n`;
    write(home, states);
    expect(await hooks('uninstall', '--project')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/config\.toml cannot be edited, and is not changed: line 1, .*hooks\.state/),
    });
    expect([read(cwd), read(home)]).toEqual([text, states]);
  });
});
