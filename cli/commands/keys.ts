// `tollgate keys …`. A new key is the only text on standard output, so that KEY=$(tollgate keys create …) works.
import { isScope, scopes, tiers } from '@tollgate/proto/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { pagesOf, readAllPages } from '../api/all-pages.ts';
import { given, rowsIn, textIn } from '../api/answer.ts';
import { type Client, segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';
import { findLibraryKeys, libraryKeyWords } from '../api/library-keys.ts';
import { timeAhead } from '../time.ts';

const list = '/{workspace}/admin/keys';
const one = (id: string): string => `${list}/${segment(id)}`;

interface NewKey {
  readonly scope: readonly string[];
  readonly uid?: string;
  readonly tier?: string;
  readonly agent?: string;
  readonly client?: string;
  readonly expires?: string;
}

export function addKeyCommands(program: Command, cli: Cli): void {
  const group = program.command('keys').description('keys of the workspace');
  group
    .command('create')
    .description('create a key; it is printed only now, alone on standard output')
    .argument('<name>', 'name of the key')
    .addOption(scopeOption('a scope of the key; repeat the option for more').makeOptionMandatory())
    .option('--uid <uid>', 'the member for whom the key acts; default: none, a service key')
    .addOption(new Option('--tier <tier>', 'the only tier that the key may name').choices(tiers))
    .option('--agent <name>', 'the only agent that the key may name')
    .option('--client <name>', 'the only client that the key may name')
    .option('--expires <time>', 'expiry: ISO 8601, or a duration from now, such as 30d')
    .action(act(cli, createKey));
  group.command('list').description('list the keys, newest first, with their last characters').action(act(cli, listKeys));
  group
    .command('rotate')
    .description('give a key a new secret, which is printed only now; the old secret stops at once')
    .argument('<id>', 'id of the key')
    .action(act(cli, rotateKey));
  group
    .command('narrow')
    .description('remove scopes from a key and keep its secret; without --scope: sidecar.library replaces sidecar.sync')
    .argument('<id>', 'id of the key')
    .addOption(scopeOption('a scope that the key keeps; repeat the option for more'))
    .action(act<Partial<Pick<NewKey, 'scope'>>>(cli, narrowKey));
  group.command('revoke').description('revoke a key; it stops at once').argument('<id>', 'id of the key').action(act(cli, revokeKey));
}

/**
 * Creates the option `--scope`. It takes one scope and can be repeated. An option with a list of values would also
 * consume the argument after it.
 */
function scopeOption(description: string): Option {
  const option = new Option('--scope <scope>', description).choices(scopes);
  return option.argParser((scope, before: readonly string[] | undefined) => {
    if (!isScope(scope)) throw new InvalidArgumentError(`Allowed choices are ${scopes.join(', ')}.`);
    return [...(before ?? []), scope];
  });
}

async function createKey({ world, words, options, print, client }: Asked<NewKey>): Promise<void> {
  const [name = ''] = words;
  const { scope, uid, tier, agent, client: pinned, expires } = options;
  const expiresAt = expires === undefined ? undefined : timeAhead('--expires', expires, world.now());
  const body = given({ name, scopes: scope, uid, tier, agent, client: pinned, expiresAt });
  const answer = await (await client()).ask('POST', list, { body });
  await print.secret(answer, textIn(answer, 'key'), `key ${textIn(answer, 'id')} is created; it is shown only now:`);
}

async function listKeys({ print, client }: Asked<object>): Promise<void> {
  const asked = await client();
  const answer = await readAllPages(asked, list, 'keys');
  await print.table(answer, rowsIn(answer, 'keys'), {
    empty: 'there is no key',
    columns: [
      { head: 'id', of: (row) => row['id'] },
      { head: 'name', of: (row) => row['name'] },
      { head: 'ends in', of: (row) => row['last4'] },
      { head: 'acts as', of: (row) => row['uid'] ?? '(service)' },
      { head: 'scopes', of: (row) => row['scopes'] },
      { head: 'only', of: (row) => [row['tier'], row['client'], row['agent']].filter((pin) => typeof pin === 'string') },
      { head: 'expires', of: (row) => row['expiresAt'] },
      { head: 'revoked', of: (row) => row['revokedAt'] },
    ],
  });
  if (!print.json) for (const key of await findLibraryKeys(asked, rowsIn(answer, 'keys'))) print.note(libraryKeyWords(key));
}

async function narrowKey({ words, options, print, client }: Asked<Partial<Pick<NewKey, 'scope'>>>): Promise<void> {
  const [id = ''] = words;
  const asked = await client();
  const scopes = options.scope ?? (await narrowerScopes(asked, id));
  const answer = await asked.ask('PATCH', one(id), { body: { scopes } });
  await print.lines(answer, []);
  print.note(`key ${id} has the scopes ${scopes.join(', ')} now; its secret is unchanged`);
}

async function narrowerScopes(client: Client, id: string): Promise<readonly string[]> {
  const now = await scopesOf(client, id);
  if (!now.includes('sidecar.sync'))
    throw new Failure(`key ${id} does not have the scope "sidecar.sync"; use --scope to name the scopes that the key keeps`);
  return [...new Set(now.map((scope) => (scope === 'sidecar.sync' ? 'sidecar.library' : String(scope))))];
}

async function scopesOf(client: Client, id: string): Promise<readonly unknown[]> {
  for await (const page of pagesOf(client, list)) {
    const scopes = rowsIn(page, 'keys').find((row) => row['id'] === id)?.['scopes'];
    if (Array.isArray(scopes)) return scopes;
  }
  throw new Failure(`there is no key ${id}`);
}

async function rotateKey({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('POST', `${one(id)}/rotate`);
  await print.secret(answer, textIn(answer, 'key'), `key ${id} has a new secret, shown only now; the old secret has stopped:`);
}

async function revokeKey({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('DELETE', one(id));
  await print.lines(answer, []);
  print.note(`key ${id} is revoked`);
}
