// `tollgate approvals …`: calls that wait for a person: see them, deny them, and the other commands but `approve` and `watch`.
import { approvalStates } from '@tollgate/proto/contract';
import { type Command, Option } from 'commander';
import { given, type Row, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { answerLines, callIn, hiddenIn, inputWords, seen, stateWords } from '../print/approval-lines.ts';
import { agentLines } from '../print/payload.ts';
import type { Column } from '../print/table.ts';
import { answeredLines, type Answering, approvalsPath, checkNote, onePath, printApproval, revealed, widthOf } from './approvals-answer.ts';
import { approve } from './approvals-approve.ts';
import { watchApprovals } from './approvals-watch.ts';

interface Filters {
  readonly tool?: string;
  readonly agent?: string;
  readonly sub?: string;
  readonly session?: string;
  readonly mine?: true;
}

interface Listing extends Filters {
  readonly state: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export function addApprovalCommands(program: Command, cli: Cli): void {
  const group = program.command('approvals').description('calls that wait for a person: see them, and decide them');
  withMine(withFilters(group.command('list').description('list the approvals, newest first')))
    .addOption(new Option('--state <state>', 'only this state').choices([...approvalStates, 'all']).default('pending'))
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listApprovals));
  group
    .command('show')
    .description('print one approval: the whole call, for whom it is made, who may answer, and the last calls of its session')
    .argument('<id>', 'the approval')
    .action(act(cli, showApproval));
  group
    .command('reveal')
    .description('print the values that the tool receives although they are not shown; it is recorded that you read them')
    .argument('<id>', 'the approval')
    .action(act(cli, revealApproval));
  group
    .command('approve')
    .description('permit the call; on a terminal it is shown first, then you are asked; elsewhere --yes is required')
    .argument('<id...>', 'the approval, or several of the same question')
    .option('--note <text>', 'what the agent reads with the answer')
    .option('-y, --yes', 'do not show and do not ask: you have seen the call')
    .action(act<Answering>(cli, approve));
  group
    .command('deny')
    .description('refuse the call, without showing it or asking; the agent reads the note')
    .argument('<id...>', 'the approval, or several of the same question')
    .option('--note <text>', 'why, for the agent')
    .option('--session', 'also refuse what the same rules ask for later in this session')
    .action(act<Answering>(cli, deny));
  group
    .command('cancel')
    .description('end the question without an answer; the call does not run, and may be asked for again')
    .argument('<id...>', 'the approvals')
    .action(act(cli, cancel));
  withFilters(
    group.command('watch').description('print approvals as they are asked for and answered, until Ctrl-C; NDJSON with --json'),
  ).action(act<Filters>(cli, (asked) => watchApprovals(asked, filtersOf(asked.options))));
}

const withFilters = (command: Command): Command =>
  command
    .option('--tool <name>', 'only this tool')
    .option('--agent <name>', 'only this agent')
    .option('--sub <uid>', 'only calls for this member or service key')
    .option('--session <id>', 'only this session');

const withMine = (command: Command): Command => command.option('--mine', 'only calls that are made for you');

const filtersOf = ({ tool, agent, sub, session, mine }: Filters): Row => given({ tool, agent, sub, session, mine });

async function listApprovals({ world, options, print, client }: Asked<Listing>): Promise<void> {
  const { state, limit, cursor } = options;
  const query = { ...filtersOf(options), state: state === 'all' ? undefined : state, limit, cursor };
  const answer = await (await client()).ask('GET', approvalsPath, { query });
  const width = widthOf(world);
  await print.table(answer, rowsIn(answer, 'approvals'), {
    empty: state === 'all' ? 'there is no approval' : `no approval is ${state}`,
    columns: columnsFor(rowsIn(answer, 'approvals')),
    below: (row) => agentLines(inputWords(row), width),
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

/** Returns the columns of the list. The state stands where a row is more than pending, the question where rows share one. */
function columnsFor(rows: readonly Row[]): readonly Column[] {
  const hasStates = rows.some((row) => stateWords(row) !== 'pending');
  const questions = rows.map(({ question }) => question);
  const shared = [...new Set(questions.filter((one, at) => questions.indexOf(one) !== at))];
  return [
    { head: 'id', of: (row) => seen(row['id']) },
    ...(hasStates ? [{ head: 'state', of: stateWords }] : []),
    { head: 'tool', of: (row) => seen(callIn(row)['tool']) },
    { head: 'agent', of: (row) => seen(callIn(row)['agent']) },
    { head: 'for', of: (row) => seen(callIn(row)['sub']) },
    { head: 'until', of: untilOf },
    ...(shared.length > 0 ? [{ head: 'question', of: (row: Row) => numberOf(shared.indexOf(row['question'])) }] : []),
  ];
}

/** Until when a call may be answered or made; undefined: it has ended. */
const untilOf = ({ state, expiresAt, usableUntil }: Row): unknown =>
  state === 'pending' ? expiresAt : state === 'approved' ? usableUntil : undefined;

/** A question that calls share has a number, the same for all of them. No command takes its id. */
const numberOf = (at: number): string => (at === -1 ? '' : String(at + 1));

async function showApproval(asked: Asked<object>): Promise<void> {
  const [id = ''] = asked.words;
  const client = await asked.client();
  await printApproval(asked, client, await client.ask('GET', onePath(id)), answerLines);
}

async function revealApproval(asked: Asked<object>): Promise<void> {
  const [id = ''] = asked.words;
  const answer = await revealed(asked, await asked.client(), id);
  asked.print.note(hiddenIn(answer).length === 0 ? 'nothing is hidden' : 'it is recorded that you have read this');
}

async function deny({ world, words, options, print, client }: Asked<Answering>): Promise<void> {
  checkNote(options);
  const connected = await client();
  const [first = '', ...others] = [...new Set(words)];
  const body = given({ note: options.note, session: options.session, with: others.length === 0 ? undefined : others });
  const answer = await connected.ask('POST', `${onePath(first)}/deny`, { body });
  await print.lines(answer, print.json ? [] : await answeredLines({ world, client: connected }, answer));
  if (options.session === true) print.note('what the same rules ask for later in this session is denied too');
}

async function cancel({ words, print, client }: Asked<object>): Promise<void> {
  const connected = await client();
  for (const id of new Set(words)) {
    const answer = await connected.ask('POST', `${onePath(id)}/cancel`);
    const lines = rowsIn(answer, 'states').map((row) => `${seen(row['id'])} is ${seen(row['state'])}`);
    await print.entry(answer, lines.join('\n'));
  }
}
