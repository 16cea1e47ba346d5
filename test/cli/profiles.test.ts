import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createRest, type Rest } from '../control-plane/rest.ts';
import { type Circumstances, folder, jsonOf, type Ran, run } from './cli.ts';

let rest: Rest;
let config: string;
beforeAll(async () => {
  rest = await createRest();
});
afterAll(() => rest.close());
beforeEach(() => {
  config = folder();
});

const tollgate = (words: readonly string[], { env = {}, ...rest }: Circumstances = {}): Promise<Ran> =>
  run(words, { ...rest, env: { XDG_CONFIG_HOME: config, ...env } });
const path = () => join(config, 'tollgate', 'profiles.json');
const add = (name: string, key = rest.owner, more: readonly string[] = []) =>
  tollgate(['profile', 'add', name, '--url', rest.origin, '--key-stdin', ...more], { stdin: `${key}\n` });
const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe('profile add', () => {
  test('checks the key, and stores it in a file and a folder that only their owner may read', async () => {
    expect(await add('local')).toEqual({ code: 0, out: '', err: `profile local: workspace acme at ${rest.origin}, in use\n` });
    expect({ file: modeOf(path()), folder: modeOf(join(config, 'tollgate')) }).toEqual({ file: '600', folder: '700' });
    expect(readdirSync(join(config, 'tollgate'))).toEqual(['profiles.json']);
    expect(await tollgate(['members', 'list'])).toMatchObject({ code: 0, out: expect.stringContaining('owner@acme.test') });
  });

  test('a folder of ours that other users could enter is closed to them', async () => {
    mkdirSync(join(config, 'tollgate'), { mode: 0o755 });
    await add('local');
    expect(modeOf(join(config, 'tollgate'))).toBe('700');
  });

  test('without XDG_CONFIG_HOME the file is in ~/.config', async () => {
    const home = folder();
    await run(['profile', 'add', 'local', '--url', rest.origin, '--key-stdin'], { stdin: rest.owner, home });
    expect(modeOf(join(home, '.config', 'tollgate', 'profiles.json'))).toBe('600');
  });

  test('at a terminal it asks for the key', async () => {
    const asked: string[] = [];
    const secret = async (message: string): Promise<string> => {
      asked.push(message);
      return rest.owner;
    };
    expect(await tollgate(['profile', 'add', 'local', '--url', rest.origin], { prompts: { secret } })).toMatchObject({ code: 0 });
    expect(asked).toEqual(['Key']);
  });

  test('without a terminal and without --key-stdin it says what to do', async () => {
    expect(await tollgate(['profile', 'add', 'local', '--url', rest.origin])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/--key-stdin, and send[^]*tollgate profile add local --url http[^ ]+ --key-stdin < /),
    });
  });

  test('a key that the control plane does not accept is neither stored nor shown', async () => {
    const wrong = `gsk_acme_${'x'.repeat(40)}`;
    const refused = await add('wrong', wrong);
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('does not accept this key; the key is not stored') });
    expect(refused.err).not.toContain('xxxx');
    expect(await tollgate(['profile', 'list'])).toMatchObject({ out: '', err: expect.stringContaining('there is no profile yet') });
  });

  test('a key with the least scope is enough', async () => {
    expect(await add('edge', await rest.keyOf('member', ['sidecar.sync'], 'edgar'))).toMatchObject({ code: 0 });
  });

  test.each([
    ['what is no key', 'gsk_acme_short', 'the input is not a key'],
    ['nothing', '', 'the input is not a key'],
  ])('%s is refused before the user is asked', async (_what, key, words) => {
    expect(await add('local', key)).toMatchObject({ code: 1, err: expect.stringContaining(words) });
  });

  test('a key is never an argument', async () => {
    expect(await tollgate(['profile', 'add', 'local', rest.owner, '--url', rest.origin])).toMatchObject({
      code: 1,
      err: expect.not.stringContaining(rest.owner),
    });
    expect(await tollgate(['profile', 'add', 'local', '--key', rest.owner, '--url', rest.origin])).toMatchObject({ code: 1 });
  });

  test.each(['', '../up', '.hidden', 'a b', 'n'.repeat(65)])('%j is not a valid name', async (name) => {
    expect(await add(name)).toMatchObject({ code: 1, err: expect.stringContaining('the name of a profile must have 1 to 64 characters') });
  });

  test.each([
    ['ftp://127.0.0.1', 'must have the form http://127.0.0.1:8080'],
    ['http://user:secret@127.0.0.1:1', 'must not contain a user, password'],
    ['http://tollgate.example', 'a key must not be sent there without TLS'],
  ])('%s is not a valid address for a key', async (url, words) => {
    const refused = await tollgate(['profile', 'add', 'x', '--url', url, '--key-stdin'], { stdin: rest.owner });
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(words) });
    expect(refused.err).not.toContain('secret');
  });
});

describe('several profiles', () => {
  test('list shows them without keys, use and --profile choose, remove deletes', async () => {
    await add('one');
    expect((await add('two', rest.other)).err).toContain('use it with tollgate profile use two');
    const listed = await tollgate(['profile', 'list']);
    expect(listed.out).toMatch(/^ +name +workspace +url\n\* +one +acme .*\n +two +other /);
    expect(listed.out + JSON.stringify(jsonOf(await tollgate(['profile', 'list', '--json'])))).not.toMatch(/gsk_/);

    expect((await tollgate(['members', 'list', '--profile', 'two'])).out).toContain('olga');
    expect(await tollgate(['profile', 'use', 'two'])).toMatchObject({ code: 0 });
    expect((await tollgate(['members', 'list'])).out).toContain('olga');
    expect(await tollgate(['profile', 'remove', 'two'])).toMatchObject({ code: 0 });
    expect(readFileSync(path(), 'utf8')).not.toContain(rest.other);
    expect(await tollgate(['members', 'list'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('no key is set: set TOLLGATE_KEY'),
    });
  });

  test('an unknown one is refused with the list of names', async () => {
    await add('one');
    for (const words of [
      ['members', 'list', '--profile', 'none'],
      ['profile', 'use', 'none'],
      ['profile', 'remove', 'none'],
    ])
      expect(await tollgate(words)).toMatchObject({ code: 1, err: 'tollgate: there is no profile none: the profiles are one\n' });
  });

  test('the environment takes precedence, and a message says so where a profile was named', async () => {
    await add('one');
    const env = { TOLLGATE_KEY: rest.other };
    expect((await tollgate(['members', 'list'], { env })).out).toContain('olga');
    expect((await tollgate(['members', 'list', '--profile', 'one'], { env })).err).toContain(
      'TOLLGATE_KEY is set and has priority over the key of one',
    );
  });

  test("a profile's key goes to the profile's address only", async () => {
    await add('one');
    const refused = {
      code: 1,
      err: expect.stringContaining(
        `the key of profile one is for ${rest.origin}, so it is not sent to another address; set TOLLGATE_KEY, or add a profile for http://127.0.0.1:9`,
      ),
    };
    expect(await tollgate(['members', 'list', '--url', 'http://127.0.0.1:9'])).toMatchObject(refused);
    expect(await tollgate(['members', 'list'], { env: { TOLLGATE_URL: 'http://127.0.0.1:9' } })).toMatchObject(refused);
    expect(await tollgate(['members', 'list', '--url', `${rest.origin}/`])).toMatchObject({ code: 0 });
  });
});

describe('the file', () => {
  test('is refused when others can read it, with the chmod that repairs it', async () => {
    await add('one');
    chmodSync(path(), 0o640);
    expect(await tollgate(['members', 'list'])).toMatchObject({ code: 1, err: expect.stringContaining(`chmod 600 ${path()}`) });
    chmodSync(path(), 0o600);
    expect(await tollgate(['members', 'list'])).toMatchObject({ code: 0 });
  });

  test.each(['{"profiles": {"one": {"url": 1}}}', 'gsk_acme_ {', '[]'])(
    'is refused when it is damaged, and is not quoted',
    async (text) => {
      await add('one');
      writeFileSync(path(), text);
      const refused = await tollgate(['members', 'list']);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('has no valid content') });
      expect(refused.err).not.toContain('gsk_');
    },
  );
});
