// `tollgate keys …`. A key that is made stands alone on standard output, so that KEY=$(tollgate keys create …) works.
import { isScope, scopes, tiers } from '@tollgate/proto/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { given, rowsIn, textIn } from '../answer.ts';
import { segment } from '../client.ts';
import { act, type Asked, type Cli } from '../command.ts';
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
    .description('issue a key, printed this once, alone on standard output')
    .argument('<name>', 'what it is for')
    .addOption(scopeOption())
    .option('--uid <uid>', 'the member it acts as; without: a service key')
    .addOption(new Option('--tier <tier>', 'the only tier it may name').choices(tiers))
    .option('--agent <name>', 'the only agent it may name')
    .option('--client <name>', 'the only client it may name')
    .option('--expires <time>', 'when it ends: ISO 8601, or from now, as 30d')
    .action(act(cli, createKey));
  group.command('list').description('the keys, newest first, by their last characters').action(act(cli, listKeys));
  group
    .command('rotate')
    .description('give a key a new secret, printed this once; the old one stops at once')
    .argument('<id>', 'of the key')
    .action(act(cli, rotateKey));
  group.command('revoke').description('end a key').argument('<id>', 'of the key').action(act(cli, revokeKey));
}

/** Given once for each scope, so that it swallows no argument behind it. */
function scopeOption(): Option {
  const option = new Option('--scope <scope>', 'what it may do; give it once for each').choices(scopes).makeOptionMandatory();
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
  await print.secret(answer, textIn(answer, 'key'), `key ${textIn(answer, 'id')} is made, shown this once:`);
}

async function listKeys({ print, client }: Asked<object>): Promise<void> {
  const answer = await (await client()).ask('GET', list);
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
}

async function rotateKey({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('POST', `${one(id)}/rotate`);
  await print.secret(answer, textIn(answer, 'key'), `key ${id} has a new secret, shown this once; the old one has stopped:`);
}

async function revokeKey({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('DELETE', one(id));
  await print.lines(answer, []);
  print.note(`key ${id} is revoked`);
}
