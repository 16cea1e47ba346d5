// `tollgate channels …`: addresses that receive messages about approvals. A new secret is the only text on standard output.
import type { Command } from 'commander';
import { given, type Row, rowsIn, textIn } from '../api/answer.ts';
import { segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';

const list = '/{workspace}/admin/approvalChannels';
const messages = '/{workspace}/admin/approvalMessages';
const one = (name: string): string => `${list}/${segment(name)}`;

interface NewChannel {
  readonly default?: boolean;
}

interface Rotating {
  readonly keep?: string;
}

interface Listing {
  readonly channel?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

interface Retrying {
  readonly all?: true;
  readonly channel?: string;
}

export function addChannelCommands(program: Command, cli: Cli): void {
  const group = program.command('channels').description('addresses that receive messages about approvals');
  group
    .command('list')
    .description('list the channels by name, and how many of their messages wait or failed')
    .action(act(cli, listChannels));
  group
    .command('add')
    .description('add a channel, or change its address; the secret of a new one is printed only now, alone on standard output')
    .argument('<name>', 'name of the channel, by which rules name it')
    .argument('<address>', 'the URL that receives the messages; it begins with https://')
    .option('--default', 'it receives messages about approvals whose rules name no channel')
    .option('--no-default', 'it does not; without either option, a channel that is changed stays as it is')
    .action(act<NewChannel>(cli, addChannel));
  group
    .command('rotate')
    .description('give a channel a new secret, which is printed only now; the old one signs too for a time')
    .argument('<name>', 'name of the channel')
    .option('--keep <seconds>', 'how long the old secret signs too; default: 86400; 0: it stops at once')
    .action(act<Rotating>(cli, rotateChannel));
  group
    .command('remove')
    .description('remove a channel with its messages, also those that were not sent')
    .argument('<name>', 'name of the channel')
    .action(act(cli, removeChannel));
  group
    .command('test')
    .description('send a message that only shows that the channel works')
    .argument('<name>', 'name of the channel')
    .action(act(cli, testChannel));
  group
    .command('failed')
    .description('list the messages that could not be sent, newest first')
    .option('--channel <name>', 'only those of this channel')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act<Listing>(cli, listFailed));
  group
    .command('retry')
    .description('send messages again that could not be sent')
    .argument('[id...]', 'the messages')
    .option('--all', 'every message that could not be sent, at most 1000')
    .option('--channel <name>', 'with --all: only those of this channel')
    .action(act<Retrying>(cli, retry));
}

async function listChannels({ print, client }: Asked<object>): Promise<void> {
  const answer = await (await client()).ask('GET', list);
  await print.table(answer, rowsIn(answer, 'channels'), {
    empty: 'there is no channel',
    columns: [
      { head: 'name', of: (row) => row['name'] },
      { head: 'url', of: (row) => row['url'] },
      { head: 'default', of: (row) => (row['default'] === true ? 'yes' : 'no') },
      { head: 'waiting', of: (row) => row['waiting'] },
      { head: 'failed', of: (row) => row['failed'] },
      { head: 'last sent', of: (row) => row['lastSentAt'] },
      { head: 'old secret until', of: (row) => row['oldSecretUntil'] },
    ],
  });
}

async function addChannel({ words, options, print, client }: Asked<NewChannel>): Promise<void> {
  const [name = '', url = ''] = words;
  const body = given({ url, default: options.default });
  const answer = await (await client()).ask('PUT', one(name), { body });
  if ('secret' in answer) return print.secret(answer, textIn(answer, 'secret'), `channel ${name} is added; its secret is shown only now:`);
  await print.lines(answer, []);
  print.note(`channel ${name} is changed; its secret is unchanged`);
}

async function rotateChannel({ words, options, print, client }: Asked<Rotating>): Promise<void> {
  const [name = ''] = words;
  if (options.keep !== undefined && !/^\d{1,7}$/.test(options.keep)) throw new Failure('--keep must be a number of seconds');
  const body = given({ keepSeconds: options.keep === undefined ? undefined : Number(options.keep) });
  const answer = await (await client()).ask('POST', `${one(name)}/rotate`, { body });
  const until = answer['oldSecretUntil'];
  const old = typeof until === 'string' ? `the old one signs too until ${until}` : 'the old one has stopped';
  await print.secret(answer, textIn(answer, 'secret'), `channel ${name} has a new secret, shown only now; ${old}:`);
}

async function removeChannel({ words, print, client }: Asked<object>): Promise<void> {
  const [name = ''] = words;
  const answer = await (await client()).ask('DELETE', one(name));
  await print.lines(answer, []);
  print.note(`channel ${name} is removed`);
}

async function testChannel({ words, print, client }: Asked<object>): Promise<void> {
  const [name = ''] = words;
  const answer = await (await client()).ask('POST', `${one(name)}/test`);
  await print.lines(answer, [`${name} has taken the message ${textIn(answer, 'id')}`]);
}

async function listFailed({ options, print, client }: Asked<Listing>): Promise<void> {
  const { channel, limit, cursor } = options;
  const answer = await (await client()).ask('GET', messages, { query: given({ state: 'failed', channel, limit, cursor }) });
  await print.table(answer, rowsIn(answer, 'messages'), {
    empty: 'no message has failed',
    columns: [
      { head: 'id', of: (row) => row['id'] },
      { head: 'channel', of: (row) => row['channel'] },
      { head: 'kind', of: (row) => row['kind'] },
      { head: 'approval', of: (row) => row['approval'] },
      { head: 'made', of: (row) => row['createdAt'] },
      { head: 'attempts', of: (row) => row['attempts'] },
      { head: 'problem', of: (row) => row['problem'] },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function retry({ words, options, print, client }: Asked<Retrying>): Promise<void> {
  if ((words.length === 0) === (options.all === undefined)) throw new Failure('name the messages, or use --all');
  const connected = await client();
  const failed = async (): Promise<readonly string[]> => {
    const query = given({ state: 'failed', channel: options.channel, limit: '1000' });
    return rowsIn(await connected.ask('GET', messages, { query }), 'messages').map((row: Row) => textIn(row, 'id'));
  };
  const ids = options.all === undefined ? [...new Set(words)] : await failed();
  for (const id of ids) {
    const answer = await connected.ask('POST', `${messages}/${segment(id)}/retry`);
    await print.entry(answer, `${textIn(answer, 'id')} is sent again`);
  }
  if (ids.length === 0) print.note('no message has failed');
}
