// `tollgate` commands that freeze the workspace, or list what it contains.
import type { Command } from 'commander';
import { readAllPages } from '../api/all-pages.ts';
import { numberIn, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';

export function addStateCommands(program: Command, cli: Cli): void {
  program
    .command('freeze')
    .description('deny every call of the workspace, whatever the rules are')
    .action(act(cli, brake('freeze')));
  program
    .command('unfreeze')
    .description('end the freeze; policies decide again')
    .action(act(cli, brake('unfreeze')));
  program
    .command('events')
    .description('list changes and who made them, newest first')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listEvents));
  program
    .command('agents')
    .description('agents of the workspace')
    .command('list')
    .description('list the agents, newest first')
    .action(act(cli, listAgents));
  program.command('models').description('list the models that an agent may have').action(act(cli, listModels));
}

const brake =
  (word: 'freeze' | 'unfreeze') =>
  async ({ print, client }: Asked<object>): Promise<void> => {
    const { workspace, ask } = await client();
    const answer = await ask('POST', `/{workspace}/admin/${word}`);
    await print.lines(answer, []);
    const now = word === 'freeze' ? 'frozen: every call is denied' : 'unfrozen: policies decide again';
    print.note(`${workspace} is ${now}, revision ${numberIn(answer, 'revision')}`);
  };

async function listEvents({ options, print, client }: Asked<{ readonly limit?: string; readonly cursor?: string }>): Promise<void> {
  const { limit, cursor } = options;
  const answer = await (await client()).ask('GET', '/{workspace}/admin/events', { query: { limit, cursor } });
  await print.table(answer, rowsIn(answer, 'events'), {
    empty: 'there are no changes yet',
    columns: [
      { head: 'at', of: (row) => row['at'] },
      { head: 'revision', of: (row) => row['revision'] },
      { head: 'by', of: (row) => row['sub'] },
      { head: 'action', of: (row) => row['action'] },
      { head: 'target', of: (row) => row['target'] },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function listAgents({ print, client }: Asked<object>): Promise<void> {
  const answer = await readAllPages(await client(), '/api/v1/agents', 'profiles');
  await print.table(answer, rowsIn(answer, 'profiles'), {
    empty: 'there is no agent',
    columns: [
      { head: 'id', of: (row) => row['id'] },
      { head: 'name', of: (row) => row['name'] },
      { head: 'model', of: (row) => row['model'] },
      { head: 'tools', of: (row) => countOf(row['enabledTools']) },
      { head: 'suspended', of: (row) => (row['suspended'] === true ? 'suspended' : '') },
      { head: 'created', of: (row) => row['createdAt'] },
    ],
  });
}

const countOf = (list: unknown): unknown => (Array.isArray(list) ? list.length : null);

async function listModels({ print, client }: Asked<object>): Promise<void> {
  const answer = await (await client()).ask('GET', '/api/v1/models');
  await print.table(answer, rowsIn(answer, 'models'), {
    empty: 'there is no model',
    columns: [
      { head: 'model', of: (row) => row['id'] },
      { head: 'in ¢/M', of: (row) => row['inputCentsPerMillionTokens'] },
      { head: 'out ¢/M', of: (row) => row['outputCentsPerMillionTokens'] },
      { head: 'context', of: (row) => row['contextWindow'] },
      { head: 'deprecated', of: (row) => (row['deprecated'] === true ? 'deprecated' : '') },
    ],
  });
}
