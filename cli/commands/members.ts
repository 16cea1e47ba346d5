// `tollgate members …`: manages the members of the workspace.
import { roles } from '@tollgate/proto/contract';
import { type Command, Option } from 'commander';
import { readAllPages } from '../api/all-pages.ts';
import { given, rowsIn } from '../api/answer.ts';
import { segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';

const list = '/{workspace}/admin/members';
const one = (uid: string): string => `${list}/${segment(uid)}`;

interface Fields {
  readonly email?: string;
  readonly role?: string;
}

export function addMemberCommands(program: Command, cli: Cli): void {
  const group = program.command('members').description('members of the workspace');
  const role = (): Option => new Option('--role <role>', 'the role, which defines the permissions').choices(roles);
  group
    .command('add')
    .description('add a member')
    .argument('<uid>', 'the user id of your sign-in')
    .requiredOption('--email <email>', 'the e-mail address')
    .addOption(role().makeOptionMandatory())
    .action(act(cli, addMember));
  group.command('list').description('list the members').action(act(cli, listMembers));
  group
    .command('set')
    .description("change a member's role or e-mail")
    .argument('<uid>', 'the member')
    .addOption(role())
    .option('--email <email>', 'the e-mail address')
    .action(act(cli, setMember));
  group
    .command('remove')
    .description('remove a member; all keys of the member stop at once')
    .argument('<uid>', 'the member')
    .action(act(cli, removeMember));
}

async function addMember({ words, options: { email, role }, print, client }: Asked<Fields>): Promise<void> {
  const [uid = ''] = words;
  const answer = await (await client()).ask('POST', list, { body: { uid, email, role } });
  await print.lines(answer, []);
  print.note(`${uid} is a member, as ${role ?? ''}`);
}

async function listMembers({ print, client }: Asked<object>): Promise<void> {
  const answer = await readAllPages(await client(), list, 'members');
  await print.table(answer, rowsIn(answer, 'members'), {
    empty: 'there is no member',
    columns: [
      { head: 'uid', of: (row) => row['uid'] },
      { head: 'role', of: (row) => row['role'] },
      { head: 'email', of: (row) => row['email'] },
      { head: 'since', of: (row) => row['createdAt'] },
    ],
  });
}

async function setMember({ words, options: { email, role }, print, client }: Asked<Fields>): Promise<void> {
  const [uid = ''] = words;
  if (email === undefined && role === undefined) throw new Failure('no change was given; give --role or --email');
  const answer = await (await client()).ask('PATCH', one(uid), { body: given({ email, role }) });
  await print.lines(answer, []);
  print.note(`${uid} is changed`);
}

async function removeMember({ words, print, client }: Asked<object>): Promise<void> {
  const [uid = ''] = words;
  const answer = await (await client()).ask('DELETE', one(uid));
  await print.lines(answer, []);
  print.note(`${uid} is no longer a member`);
}
