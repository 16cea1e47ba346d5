// `tollgate run`: runs an agent. Its text is streamed to standard output, and its actions are written to standard
// error.
import { text as readAll } from 'node:stream/consumers';
import { type Command, InvalidArgumentError } from 'commander';
import { given, isRow, type Row, rowIn, rowsIn, textIn } from '../api/answer.ts';
import { type Client, segment } from '../api/client.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { type Globals, timeoutOf } from '../api/connect.ts';
import { Failure, Outage } from '../failure.ts';
import { findAgent, findAgentHelp } from '../api/find-agent.ts';
import { type Printer, writeAll } from '../print/print.ts';
import { callLine, plain, resultLine } from '../print/run-lines.ts';
import { eventsOf, parseRow } from '../api/streams.ts';
import { shown } from '../print/table.ts';
import type { World } from '../world.ts';

interface Task {
  readonly context?: Readonly<Record<string, string>>;
}

export function addRunCommand(program: Command, cli: Cli): void {
  program
    .command('run')
    .showHelpAfterError(findAgentHelp)
    .description('run an agent and print its text; with --json its result. Ctrl-C cancels the run, and so does the end of --timeout')
    .argument('<agent>', 'id of the agent, or its name if that is unique')
    .argument('<input>', 'the goal or instruction; - reads it from standard input')
    .option('--context <name=value>', 'a value for the system prompt; repeat the option for more', contextFrom)
    .action(act(cli, runAgent));
}

function contextFrom(pair: string, before: Task['context']): Task['context'] {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError('The value must have the form name=value.');
  return { ...before, [name]: value };
}

async function runAgent({ world, words, options, print, client: connect }: Asked<Task>): Promise<ExitCode> {
  const [agent = '', asked = ''] = words;
  const input = asked === '-' ? await readAll(world.stdin) : asked;
  const client = await connect();
  const path = `/api/v1/agents/${segment(await findAgent(client, agent))}/run`;
  const body = given({ input, context: options.context, stream: true });
  const interrupted = world.interruption();
  const limit = timeLimit(options);
  const signal = AbortSignal.any([interrupted, limit.signal]);
  const run: Begun = { id: null };
  try {
    const result = await followRun(await client.stream('POST', path, { body, signal }), { world, print, run });
    if (print.json) await print.lines(result, []);
    else print.note(summaryOf(result));
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    const why = interrupted.aborted ? 'interrupted' : `not done within ${options.timeout ?? ''} s`;
    print.note(`${why}; ${await cancelled(client, run)}`);
    return interrupted.aborted ? 130 : 124;
  } finally {
    limit.clear();
  }
}

/** The id of the run, after the control plane has sent it. */
interface Begun {
  id: string | null;
}

/** The time limit of the whole run, if the user gave one. */
function timeLimit(options: Globals): { readonly signal: AbortSignal; readonly clear: () => void } {
  const limit = new AbortController();
  const timer = options.timeout === undefined ? undefined : setTimeout(() => limit.abort(), timeoutOf(options));
  return { signal: limit.signal, clear: () => clearTimeout(timer) };
}

/**
 * Cancels the run and returns the outcome in words. Disconnecting also cancels a run. But a proxy between this client
 * and the control plane might keep its own connection to the control plane open.
 */
async function cancelled(client: Client, { id }: Begun): Promise<string> {
  if (id === null) return 'no run had begun, or it is cancelled because the client disconnected';
  try {
    const { status } = rowIn(await client.ask('POST', `/api/v1/runs/${segment(id)}/cancel`), 'run');
    return status === 'running' || status === 'waiting' || status === 'cancelled'
      ? `run ${id} is cancelled`
      : `run ${id} had ended: ${shown(status)}`;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `run ${id} is cancelled because the client disconnected; the cancel request failed: ${error.message}`;
  }
}

interface Followed {
  readonly world: World;
  readonly print: Printer;
  readonly run: Begun;
}

/** Prints the events of a run until it ends. Returns the result, which is in the last event. */
async function followRun(pieces: AsyncIterable<string>, { world, print, run }: Followed): Promise<Row> {
  let said = '';
  const say = async (delta: string): Promise<void> => {
    said = delta;
    if (!print.json) await writeAll(world.stdout, plain(delta));
  };
  let isWaiting = false;
  const endLine = (): Promise<void> => (said === '' || said.endsWith('\n') ? Promise.resolve() : say('\n'));
  for await (const { event, data, comment } of eventsOf(pieces)) {
    run.id ??= /^run ([A-Za-z0-9]+)$/.exec(comment ?? '')?.[1] ?? null;
    if (data === null) continue;
    const row = parseRow(data);
    if (event === 'text') await say(textIn(row, 'delta'));
    else await endLine();
    // A run that waits continues after its control plane has stopped. The error says so.
    if (event === 'error') throw new Outage(`${isWaiting ? '' : 'the run failed: '}${textIn(row, 'error')}`);
    if (event === 'done') return row;
    isWaiting = event === 'approval_required';
    if (!print.json) for (const line of linesOf(event, row)) world.stderr.write(`${line}\n`);
  }
  throw new Outage('the connection ended before the end of the run; see the status of the run with: tollgate runs list');
}

function linesOf(event: string, row: Row): readonly string[] {
  switch (event) {
    case 'tool_calls':
      return rowsIn(row, 'calls').map((call) => callLine(call['tool'], call['input']));
    case 'governance':
      return row['decision'] === 'deny' ? [`✗ ${shown(row['tool'])} ${shown(row['reason'])}`] : [];
    case 'tool_result':
      return [resultLine(row['tool'], row['isError'], row['output'])];
    case 'approval_required':
      return rowsIn(row, 'calls').map(
        ({ tool, approvalId }) => `… ${shown(tool)} waits for a person: tollgate approvals show ${shown(approvalId)}`,
      );
    case 'approval_decided':
      return [`… ${shown(row['tool'])} ${shown(row['state'])}`];
    default:
      return [];
  }
}

function summaryOf(result: Row): string {
  const usage = isRow(result['usage']) ? result['usage'] : {};
  const counts = `${shown(usage['toolCallCount'])} tool calls, ${shown(usage['estimatedCostCents'])} cents`;
  return `run ${textIn(result, 'id')}: ${shown(result['stopReason'])}, ${counts}`;
}
