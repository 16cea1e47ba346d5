// `tollgate profile …`: manages the control planes that this user works with. A key is entered only through a hidden
// prompt or standard input. It is tested before it is stored, and never shown again.
import { parseKey } from '@tollgate/proto/contract';
import type { Command } from 'commander';
import { createClient, type Client } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { checkUrl, timeoutOf } from '../api/connect.ts';
import { Failure } from '../failure.ts';
import { readAll } from '../policies/policy-files.ts';
import { checkProfileName, profilesPath, readProfiles, requireProfile, writeProfiles } from '../profiles.ts';

export function addProfileCommands(program: Command, cli: Cli): void {
  const group = program.command('profile').description('stored control planes and keys, each with a name');
  group
    .command('add')
    .description('check a key and store it with the address of --url; asks for the key on a terminal; without a terminal, use --key-stdin')
    .argument('<name>', 'name of the profile')
    .option('--key-stdin', 'read the key from standard input')
    .addHelpText('after', example)
    .action(act(cli, addProfile));
  group.command('list').description('list the profiles, without their keys').action(act(cli, listProfiles));
  group.command('use').description('select the current profile').argument('<name>', 'its name').action(act(cli, selectProfile));
  group.command('remove').description('remove a profile and its key').argument('<name>', 'its name').action(act(cli, removeProfile));
}

const example = `
Without a terminal, such as in a script or in CI, from a file or from a variable:
  tollgate profile add ci --url https://tollgate.example --key-stdin < /run/secrets/tollgate-key
  printenv TOLLGATE_KEY | tollgate profile add ci --url https://tollgate.example --key-stdin`;

async function addProfile(asked: Asked<{ readonly keyStdin?: true }>): Promise<void> {
  const { world, print, options } = asked;
  const [name = ''] = asked.words;
  checkProfileName(name);
  if (options.url === undefined) throw new Failure('the address of the control plane is missing; give it with --url <url>');
  const url = checkUrl(options.url, world.env);
  const profiles = await readProfiles(world);
  const key = (await readKey(asked)).trim();
  const workspace = parseKey(key)?.workspace;
  if (workspace === undefined)
    throw new Failure('the input is not a key; a key is gsk_<workspace>_ followed by 32 to 64 letters and digits');
  const config = { url, key, keyFrom: 'this key', workspace, timeoutMs: timeoutOf(options), note: print.note };
  await tryKey(createClient(world, config));
  const current = profiles.current ?? name;
  await writeProfiles(world, { current, named: new Map([...profiles.named, [name, { url, key }]]) });
  const said = `profile ${name}: workspace ${workspace} at ${url}${current === name ? ', in use' : `; use it with tollgate profile use ${name}`}`;
  if (print.json) await print.lines({ ok: true, name, url, workspace, current: current === name }, []);
  else print.note(said);
}

async function readKey({ world, words: [name = ''], options }: Asked<{ readonly keyStdin?: true }>): Promise<string> {
  if (options.keyStdin === true) return readAll(world.stdin);
  if (world.prompts === null)
    throw new Failure('there is no terminal to ask for the key; add --key-stdin, and send the key to standard input', [
      `for example: tollgate profile add ${name} --url ${options.url ?? '<url>'} --key-stdin < <file with the key>`,
      'a key is never an argument, because other users of this machine can read the arguments of a program',
    ]);
  return world.prompts.secret('Key');
}

/**
 * Tests the key with read requests until an answer shows the result. 401: the key is not valid. 403: the key is valid
 * but lacks permission.
 */
async function tryKey(client: Client): Promise<void> {
  for (const path of ['/{workspace}/admin/session', '/api/v1/models', '/api/v1/agents?limit=1']) {
    const status = await client.probe(path);
    if (status === 401) throw new Failure(`${client.url} does not accept this key; the key is not stored`);
    if (status === 200 || status === 403) return;
  }
  throw new Failure(`${client.url} does not answer like a control plane; the key is not stored`);
}

async function listProfiles({ world, print }: Asked<object>): Promise<void> {
  const { current, named } = await readProfiles(world);
  const profiles = [...named].map(([name, { url, key }]) => ({
    name,
    url,
    workspace: parseKey(key)?.workspace ?? '',
    current: name === current,
  }));
  await print.table({ profiles }, profiles, {
    empty: `there is no profile yet in ${profilesPath(world)}`,
    columns: [
      { head: '', of: (row) => (row['current'] === true ? '*' : '') },
      { head: 'name', of: (row) => row['name'] },
      { head: 'workspace', of: (row) => row['workspace'] },
      { head: 'url', of: (row) => row['url'] },
    ],
  });
}

async function selectProfile({ world, words, print }: Asked<object>): Promise<void> {
  const [name = ''] = words;
  const profiles = await readProfiles(world);
  const { url } = requireProfile(profiles, name);
  await writeProfiles(world, { ...profiles, current: name });
  if (print.json) await print.lines({ ok: true, current: name }, []);
  else print.note(`in use: ${name}, at ${url}`);
}

async function removeProfile({ world, words, print }: Asked<object>): Promise<void> {
  const [name = ''] = words;
  const { current, named } = await readProfiles(world);
  requireProfile({ current, named }, name);
  await writeProfiles(world, {
    current: current === name ? null : current,
    named: new Map([...named].filter(([other]) => other !== name)),
  });
  if (print.json) await print.lines({ ok: true }, []);
  else print.note(`removed: ${name}; its key still works until it is revoked`);
}
