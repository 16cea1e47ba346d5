// `tollgate runs …`: lists the runs of an agent, shows one run, and cancels it.
import type { Command } from 'commander';
import { isRow, type Row, rowIn, rowsIn, textIn } from '../api/answer.ts';
import { segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { findAgent } from '../api/find-agent.ts';
import { callLine, plain, resultLine } from '../print/run-lines.ts';
import { shown } from '../print/cell.ts';

const one = (id: string): string => `/api/v1/runs/${segment(id)}`;

interface Pages {
  readonly limit?: string;
  readonly cursor?: string;
}

export function addRunCommands(program: Command, cli: Cli): void {
  const group = program.command('runs').description('runs of agents');
  group
    .command('list')
    .description('the runs of an agent, newest first')
    .argument('<agent>', 'its id, or its name where no other agent has it')
    .option('--limit <count>', 'how many at most; without: 200')
    .option('--cursor <next>', 'continue where the previous answer ended')
    .action(act(cli, listRuns));
  group.command('show').description('a run, and what was said in it').argument('<id>', 'of the run').action(act(cli, showRun));
  group.command('cancel').description('ask a run to end').argument('<id>', 'of the run').action(act(cli, cancelRun));
}

async function listRuns({ words, options, print, client: connect }: Asked<Pages>): Promise<void> {
  const [agent = ''] = words;
  const { limit, cursor } = options;
  const client = await connect();
  const answer = await client.ask('GET', `/api/v1/agents/${segment(await findAgent(client, agent))}/runs`, { query: { limit, cursor } });
  const used = (row: Row, field: string): unknown => (isRow(row['usage']) ? row['usage'][field] : undefined);
  await print.table(answer, rowsIn(answer, 'runs'), {
    empty: 'the agent has not run yet',
    columns: [
      { head: 'id', of: (row) => row['id'] },
      { head: 'started', of: (row) => row['startedAt'] },
      { head: 'status', of: (row) => row['status'] },
      { head: 'stop reason', of: (row) => row['stopReason'] },
      { head: 'sub', of: (row) => row['sub'] },
      { head: 'model', of: (row) => used(row, 'model') },
      { head: 'calls', of: (row) => used(row, 'toolCallCount') },
      { head: 'cents', of: (row) => used(row, 'estimatedCostCents') },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function showRun({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('GET', one(id));
  const { transcript, output: _, ...run } = rowIn(answer, 'run');
  const about = Object.entries(run).map(([name, value]) => `${name}: ${shown(value)}`);
  const said = Array.isArray(transcript) ? transcript.filter(isRow).flatMap(linesSaid) : [];
  await print.lines(answer, [...about, ...(said.length > 0 ? ['', ...said] : [])]);
}

function linesSaid({ role, text, toolCalls, tool, isError, output }: Row): readonly string[] {
  const calls = Array.isArray(toolCalls) ? toolCalls.filter(isRow) : [];
  return [
    ...(typeof text === 'string' && text !== '' ? [`${shown(role)}: ${plain(text)}`] : []),
    ...calls.map((call) => callLine(call['tool'], call['input'])),
    ...(role === 'tool' ? [resultLine(tool, isError, output)] : []),
    ...(role === 'cut' ? ['… what came after is not kept'] : []),
  ];
}

async function cancelRun({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('POST', `${one(id)}/cancel`);
  const status = textIn(rowIn(answer, 'run'), 'status');
  await print.lines(answer, []);
  print.note(status === 'running' ? `run ${id} is asked to end` : `run ${id} has ended: ${status}`);
}
