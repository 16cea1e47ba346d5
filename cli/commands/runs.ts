// `tollgate runs …`: lists the runs of an agent, shows one run, and cancels it.
import type { Command } from 'commander';
import { isRow, type Row, rowIn, rowsIn, textIn } from '../api/answer.ts';
import { segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { findAgent, findAgentHelp } from '../api/find-agent.ts';
import { callLine, plain, resultLine } from '../print/run-lines.ts';
import { shown } from '../print/table.ts';

const one = (id: string): string => `/api/v1/runs/${segment(id)}`;

interface Pages {
  readonly limit?: string;
  readonly cursor?: string;
}

export function addRunCommands(program: Command, cli: Cli): void {
  const group = program.command('runs').description('runs of agents');
  group
    .command('list')
    .showHelpAfterError(findAgentHelp)
    .description('list the runs of an agent, newest first')
    .argument('<agent>', 'id of the agent, or its name if that is unique')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listRuns));
  group.command('show').description('show a run and its transcript').argument('<id>', 'id of the run').action(act(cli, showRun));
  group.command('cancel').description('cancel a run').argument('<id>', 'id of the run').action(act(cli, cancelRun));
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
    ...(role === 'cut' ? ['… the rest was not stored'] : []),
  ];
}

async function cancelRun({ words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await (await client()).ask('POST', `${one(id)}/cancel`);
  const status = textIn(rowIn(answer, 'run'), 'status');
  await print.lines(answer, []);
  print.note(
    status === 'running' || status === 'waiting' ? `run ${id} will end: the cancel request was accepted` : `run ${id} has ended: ${status}`,
  );
}
