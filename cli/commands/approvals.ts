// `tollgate approvals …`: calls that wait for a person. Before `approve` sends anything, the whole call was shown, and the
// person has said yes to it.
import { approvalStates } from '@tollgate/proto/contract';
import { type Command, Option } from 'commander';
import { given, type Row, rowsIn, textIn } from '../api/answer.ts';
import { type Client, segment } from '../api/client.ts';
import { act, type Asked, type Cli } from '../command.ts';
import { Failure } from '../failure.ts';
import { approvalLines, callIn, hiddenIn, isCut, isRevealed, revealedLines, seen, stateWords } from '../print/approval-lines.ts';
import { watchApprovals } from './approvals-watch.ts';

const path = '/{workspace}/admin/approvals';
const one = (id: string): string => `${path}/${segment(id)}`;

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

interface Answering {
  readonly note?: string;
  readonly yes?: true;
  readonly session?: true;
}

/** A note is part of the answer to the model, so it is bounded as there. */
const noteLengthMax = 1_000;

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
    .description('refuse the call; the agent reads the note')
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

async function listApprovals({ options, print, client }: Asked<Listing>): Promise<void> {
  const { state, limit, cursor } = options;
  const query = { ...filtersOf(options), state: state === 'all' ? undefined : state, limit, cursor };
  const answer = await (await client()).ask('GET', path, { query });
  await print.table(answer, rowsIn(answer, 'approvals'), {
    empty: state === 'all' ? 'there is no approval' : `no approval is ${state}`,
    columns: [
      { head: 'id', of: (row) => seen(row['id']) },
      { head: 'state', of: stateWords },
      { head: 'tool', of: (row) => seen(callIn(row)['tool']) },
      { head: 'agent', of: (row) => seen(callIn(row)['agent']) },
      { head: 'for', of: (row) => seen(callIn(row)['sub']) },
      { head: 'asked', of: (row) => row['createdAt'] },
      { head: 'until', of: (row) => (row['state'] === 'approved' ? row['usableUntil'] : row['expiresAt']) },
      { head: 'question', of: (row) => seen(row['question']) },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function showApproval(asked: Asked<object>): Promise<void> {
  const [id = ''] = asked.words;
  const client = await asked.client();
  const approval = await client.ask('GET', one(id));
  await print(asked, client, approval);
  if (approval['state'] !== 'pending') return;
  if (hiddenIn(approval).length > 0)
    asked.print.note(`before you approve it, read what is hidden yourself: tollgate approvals reveal ${id}`);
  asked.print.note(`to decide it: tollgate approvals approve ${id}, or tollgate approvals deny ${id} --note <why>`);
}

/** Prints an approval, with the ids of the calls that were asked for together with it. */
async function print({ world, print }: Pick<Asked<object>, 'world' | 'print'>, client: Client, approval: Row): Promise<void> {
  const session = callIn(approval)['sessionId'];
  const isWaiting = approval['state'] === 'pending' && typeof session === 'string';
  // A session has at most 10 pending approvals, so they are on one page.
  const pending = isWaiting ? await client.ask('GET', path, { query: { state: 'pending', session } }) : { approvals: [] };
  const together = rowsIn(pending, 'approvals').filter((row) => row['question'] === approval['question'] && row['id'] !== approval['id']);
  await print.lines(approval, approvalLines(approval, { paint: print.paint, width: widthOf(world), together }));
}

/** Returns the columns of the terminal; null: the output is no terminal. */
const widthOf = ({ stdout }: Asked<object>['world']): number | null => (stdout.isTTY === true ? stdout.columns || 80 : null);

async function revealApproval({ world, words, print, client }: Asked<object>): Promise<void> {
  const [id = ''] = words;
  const answer = await reveal(await client(), id);
  await print.lines(answer, revealedLines(answer, widthOf(world)));
  print.note(hiddenIn(answer).length === 0 ? 'nothing is hidden' : 'it is recorded that you have read this');
}

const reveal = (client: Client, id: string): Promise<Row> => client.ask('POST', `${one(id)}/reveal`);

async function approve(asked: Asked<Answering>): Promise<void> {
  const { world, words, options, print: printer } = asked;
  checkNote(options);
  const ids = [...new Set(words)];
  const asks = options.yes !== true;
  if (asks && (world.prompts === null || printer.json))
    throw new Failure(`approve shows the call and asks, which needs a terminal${printer.json ? ' and no --json' : ''}`, [
      `see the call first: tollgate approvals show ${seen(ids[0])}; then add --yes`,
    ]);
  const client = await asked.client();
  const approvals: Row[] = [];
  for (const id of ids) approvals.push(await client.ask('GET', one(id)));
  for (const approval of approvals) checkPending(approval);
  if (new Set(approvals.map((approval) => approval['question'])).size > 1)
    throw new Failure('these approvals belong to different questions; approve each by itself');
  for (const approval of approvals) {
    if (isCut(approval)) throw new Failure(`${seen(approval['id'])} does not show its whole input, so it cannot be approved; deny it`);
    if (asks) await showAndReveal(asked, client, approval);
    else if (hiddenIn(approval).length > 0 && !isRevealed(approval))
      throw new Failure(`${seen(approval['id'])} has values that are not shown, and the tool receives them`, [
        `read them first: tollgate approvals reveal ${seen(approval['id'])}`,
      ]);
  }
  if (asks && (await world.prompts?.confirm(questionFor(approvals))) !== true) return printer.note('nothing was answered');
  const [first = '', ...others] = ids;
  const body = given({ note: options.note, with: others.length === 0 ? undefined : others });
  const answer = await client.ask('POST', `${one(first)}/approve`, { body });
  await printer.lines(answer, statesOf(answer));
}

/** Returns a line for each approval that was answered. One that is still pending needs another person. */
const statesOf = (answer: Row): readonly string[] =>
  rowsIn(answer, 'states').map(({ id, state }) =>
    state === 'pending' ? `${seen(id)} is approved by you, and needs the approval of another person` : `${seen(id)} is ${seen(state)}`,
  );

function questionFor(approvals: readonly Row[]): string {
  const [call] = approvals.map(callIn);
  const what = approvals.length > 1 ? `these ${approvals.length} calls` : `this call of ${seen(call?.['tool'])}`;
  return `Approve ${what} for ${seen(call?.['sub'])}?`;
}

/** Shows a call to the person at the terminal, with what is hidden in it. */
async function showAndReveal(asked: Asked<Answering>, client: Client, approval: Row): Promise<void> {
  const id = textIn(approval, 'id');
  await print(asked, client, approval);
  const count = hiddenIn(approval).length;
  if (count === 0) return;
  const question = `${id} has ${count === 1 ? 'a value that is' : `${count} values that are`} not shown. Show what the tool receives? It is recorded`;
  if ((await asked.world.prompts?.confirm(question)) !== true)
    throw new Failure(`what the tool receives must be read before ${id} can be approved; nothing was answered`);
  const answer = await reveal(client, id);
  await asked.print.lines(answer, revealedLines(answer, widthOf(asked.world)));
}

function checkPending(approval: Row): void {
  const { state } = approval;
  if (state === 'pending') return;
  throw new Failure(`${seen(approval['id'])} is ${stateWords(approval)}, so it cannot be approved any more`);
}

function checkNote({ note }: Answering): void {
  if (note !== undefined && note.length > noteLengthMax) throw new Failure(`--note must have at most ${noteLengthMax} characters`);
}

async function deny({ words, options, print, client }: Asked<Answering>): Promise<void> {
  checkNote(options);
  const [first = '', ...others] = [...new Set(words)];
  const body = given({ note: options.note, session: options.session, with: others.length === 0 ? undefined : others });
  const answer = await (await client()).ask('POST', `${one(first)}/deny`, { body });
  await print.lines(answer, statesOf(answer));
  if (options.session === true) print.note('what the same rules ask for later in this session is denied too');
}

async function cancel({ words, print, client }: Asked<object>): Promise<void> {
  const connected = await client();
  for (const id of new Set(words)) {
    const answer = await connected.ask('POST', `${one(id)}/cancel`);
    await print.entry(answer, statesOf(answer).join('\n'));
  }
}
