// `tollgate simulate`: shows how draft policies would have decided the recorded calls. It changes nothing.
import type { Command } from 'commander';
import { given, isRow, numberIn, type Row, rowIn, rowsIn } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { escapeText } from '../print/escape.ts';
import { Failure } from '../failure.ts';
import { readPolicies } from '../policies/policy-files.ts';
import { rowsOf } from '../api/streams.ts';
import { shown } from '../print/table.ts';
import { timeAgo } from '../time.ts';
import type { World } from '../world.ts';
import { filesFlag, filesWords } from './policy.ts';

interface Question {
  readonly file: readonly string[];
  readonly since: string;
  readonly until?: string;
  readonly limit?: string;
}

export function addSimulateCommand(program: Command, cli: Cli): void {
  program
    .command('simulate')
    .description('decide recorded calls again with draft policies; exit code 2 if a decision would change')
    .requiredOption(filesFlag, filesWords)
    .option('--since <time>', 'start: ISO 8601, or a duration before now, such as 24h', '24h')
    .option('--until <time>', 'end: ISO 8601, or a duration before now')
    .option('--limit <count>', 'maximum number of calls')
    .action(act(cli, simulate));
}

async function simulate({ world, options, print, client }: Asked<Question>): Promise<ExitCode> {
  const drafts = await readPolicies(options.file, world.stdin);
  const since = timeAgo('--since', options.since, world.now());
  const until = options.until === undefined ? undefined : timeAgo('--until', options.until, world.now());
  const limit = options.limit === undefined ? undefined : countOf(options.limit);
  const pieces = await (await client()).stream('POST', '/{workspace}/admin/simulate', { body: given({ ...drafts, since, until, limit }) });
  const result = await readResult(pieces, world);
  const newly = rowIn(result, 'newly');
  const tried = numberIn(result, 'entries') > 0;
  const groups = rowsIn(result, 'groups');
  await print.table(result, groups, {
    empty: tried ? 'no decision would change' : 'no call was recorded in this time; no decision was simulated',
    columns: [
      { head: 'change', of: (row) => row['change'] },
      { head: 'count', of: (row) => row['count'] },
      { head: 'agent', of: (row) => row['agent'] },
      { head: 'tool', of: (row) => row['tool'] },
      { head: 'tier', of: (row) => row['tier'] },
      { head: 'rule of', of: (row) => row['document'] ?? row['layer'] },
      { head: 'path', of: (row) => row['path'] },
      { head: 'for example', of: exampleOf },
    ],
  });
  if (tried) print.note(summaryOf(result, newly));
  return groups.length > 0 || Object.values(newly).some((count) => typeof count === 'number' && count > 0) ? 2 : 0;
}

function countOf(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Failure(`--limit must be a number, but is ${text}`);
  return Number(text);
}

/** Prints the progress and returns the result. The last line contains the result or an error; an error is thrown. */
async function readResult(pieces: AsyncIterable<string>, { stderr }: World): Promise<Row> {
  const { isTTY = false } = stderr;
  let last: Row = {};
  for await (const row of rowsOf(pieces)) {
    last = row;
    const { progress } = row;
    // On a terminal, each progress line overwrites the previous one.
    if (isRow(progress)) stderr.write(`${isTTY ? '\r\u001b[2K' : ''}${progressOf(progress)}${isTTY ? '' : '\n'}`);
  }
  if (isTTY) stderr.write('\r\u001b[2K');
  if (typeof last['error'] === 'string') throw new Failure(`the simulation failed: ${last['error']}`);
  if (!isRow(last['result']))
    throw new Failure('the simulation ended without a result; run it again, and select fewer calls with --limit or --since');
  return last['result'];
}

const progressOf = ({ entries, until }: Row): string => escapeText(`${String(entries)} calls, at ${String(until)}`);

function summaryOf(result: Row, newly: Row): string {
  const counts = Object.entries(newly).map(([name, count]) => `${shown(count)} ${name}`);
  const cut = result['truncated'] === true ? ', and there are more: raise --limit or narrow --since' : '';
  const unsure =
    result['uncertain'] === 0 || result['uncertain'] === undefined
      ? ''
      : `; ${shown(result['uncertain'])} uncertain: conditions read what their entries do not show`;
  const { asked } = result;
  const questions = typeof asked !== 'number' || asked === 0 ? '' : `; would have asked ${asked} ${asked === 1 ? 'time' : 'times'}`;
  return `${numberIn(result, 'entries')} calls from ${shown(result['since'])} to ${shown(result['until'])}${cut}; newly: ${counts.join(', ')}${questions}${unsure}`;
}

function exampleOf({ examples }: Row): unknown {
  const first: unknown = Array.isArray(examples) ? examples[0] : undefined;
  return isRow(first) ? (first['id'] ?? first) : first;
}
