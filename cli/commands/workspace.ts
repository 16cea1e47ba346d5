// `tollgate workspace …`: manages workspaces, for the operator of a control plane.
import type { Command } from 'commander';
import { readAllPages } from '../api/all-pages.ts';
import { rowsIn, textIn } from '../api/answer.ts';
import { segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';

const list = '/api/v1/workspaces';

interface NewWorkspace {
  readonly ownerUid: string;
  readonly ownerEmail: string;
}

export function addWorkspaceCommands(program: Command, cli: Cli): void {
  const group = program
    .command('workspace')
    .description("workspaces of a control plane; needs the operator's key in TOLLGATE_OPERATOR_KEY");
  group
    .command('create')
    .description("create a workspace; the owner's key is printed only now, alone on standard output")
    .argument('<slug>', '1 to 40 characters of a-z 0-9 and -')
    .requiredOption('--owner-uid <uid>', 'user id of the owner')
    .requiredOption('--owner-email <email>', 'e-mail address of the owner')
    .action(act(cli, createWorkspace));
  group.command('list').description('list all workspaces').action(act(cli, listWorkspaces));
  group
    .command('delete')
    .description('remove a workspace and everything in it')
    .argument('<slug>', 'the workspace')
    .option('--confirm <slug>', 'the slug again; on a terminal, the command asks for it')
    .action(act(cli, deleteWorkspace));
}

async function createWorkspace({ words, options, print, operator }: Asked<NewWorkspace>): Promise<void> {
  const [slug = ''] = words;
  const body = { slug, owner: { uid: options.ownerUid, email: options.ownerEmail } };
  const answer = await (await operator()).ask('POST', list, { body });
  await print.secret(answer, textIn(answer, 'key'), `workspace ${slug} is created; the key of ${options.ownerUid}, shown only now:`);
}

async function listWorkspaces({ print, operator }: Asked<object>): Promise<void> {
  const answer = await readAllPages(await operator(), list, 'workspaces');
  await print.table(answer, rowsIn(answer, 'workspaces'), {
    empty: 'there is no workspace',
    columns: [
      { head: 'slug', of: (row) => row['slug'] },
      { head: 'frozen', of: (row) => (row['frozen'] === true ? 'frozen' : '') },
      { head: 'revision', of: (row) => row['revision'] },
      { head: 'created', of: (row) => row['createdAt'] },
    ],
  });
}

async function deleteWorkspace({ world, words, options, print, operator }: Asked<{ readonly confirm?: string }>): Promise<void> {
  const [slug = ''] = words;
  const client = await operator();
  const again =
    options.confirm ?? (await world.prompts?.text(`Everything in ${slug} will be removed permanently. Type its slug to confirm`));
  if (again === undefined) throw new Failure(`the command removes everything in the workspace ${slug}; to confirm, add --confirm ${slug}`);
  if (again !== slug) throw new Failure(`the value of --confirm must be ${slug}; nothing is removed`);
  const answer = await client.ask('DELETE', `${list}/${segment(slug)}`, { body: { slug: again } });
  await print.lines(answer, []);
  print.note(`workspace ${slug} is removed`);
}
