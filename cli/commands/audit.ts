// `tollgate audit …`: shows the decisions. `tail` runs until Ctrl-C, reconnects after a lost connection, and prints
// each entry once. `export` writes everything or fails.
import { type Command, Option } from 'commander';
import { given, type Row, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { safeJson } from '../print/escape.ts';
import { writeStream } from '../files.ts';
import { type Paint, writeAll } from '../print/print.ts';
import { linesOf, parseRow } from '../api/streams.ts';
import { shown } from '../print/table.ts';
import { tailEntries } from '../api/tail.ts';
import { timeAgo } from '../time.ts';
import { addProofCommands } from './audit-proof.ts';
import { exportProof } from './export-proof.ts';

const path = '/{workspace}/admin/audit';

interface Filters {
  readonly tool?: string;
  readonly decision?: string;
  readonly agent?: string;
  readonly sub?: string;
  readonly session?: string;
  readonly reason?: string;
}

interface Query extends Filters {
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly output?: string;
  readonly proof?: true;
  readonly after?: string;
}

export function addAuditCommands(program: Command, cli: Cli): void {
  const group = program.command('audit').description('the recorded decisions: which call, for whom, and why');
  withFilters(group.command('query').description('print entries, newest first'))
    .option('--since <time>', 'start: ISO 8601, or a duration before now, such as 1h; default: 15m')
    .option('--until <time>', 'end: ISO 8601, or a duration before now')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, queryAudit));
  withFilters(group.command('tail').description('print new entries until Ctrl-C; NDJSON with --json'))
    .option('--from <id>', 'start after this place, which tail prints when it ends; 0: start with the oldest entry')
    .action(act(cli, tailAudit));
  withFilters(group.command('export').description('write entries as NDJSON'))
    .option('-o, --output <file>', 'write to this file; an incomplete export stays in <file>.partial')
    .option('--since <time>', 'start: ISO 8601, or a duration before now, such as 7d')
    .option('--until <time>', 'end: ISO 8601, or a duration before now')
    .option('--proof', 'all entries, with the hash chain and a checkpoint, for: audit verify')
    .option('--after <checkpoint>', 'with --proof, only items after this checkpoint: a file, or the number of its items')
    .action(act(cli, exportAudit));
  addProofCommands(group, cli);
}

const withFilters = (command: Command): Command =>
  command
    .option('--tool <name>', 'only this tool')
    .addOption(new Option('--decision <decision>', 'only this decision').choices(['allow', 'deny']))
    .option('--agent <name>', 'only this agent')
    .option('--sub <uid>', 'only this member or service key')
    .option('--session <id>', 'only this session')
    .option('--reason <code>', 'only this reason, such as policy_denied');

const filtersOf = ({ tool, decision, agent, sub, session, reason }: Filters): Row => given({ tool, decision, agent, sub, session, reason });

async function queryAudit({ world, options, print, client }: Asked<Query>): Promise<void> {
  const { limit, cursor } = options;
  const since = options.since === undefined ? undefined : timeAgo('--since', options.since, world.now());
  const until = options.until === undefined ? undefined : timeAgo('--until', options.until, world.now());
  const answer = await (await client()).ask('GET', path, { query: { ...filtersOf(options), since, until, limit, cursor } });
  await print.table(answer, rowsIn(answer, 'entries'), {
    empty: `nothing was recorded since ${textIn(answer, 'since')}`,
    columns: [
      { head: 'at', of: (row) => row['ts'] },
      { head: 'event', of: (row) => row['hookEvent'] },
      { head: 'decision', of: (row) => row['decision'] },
      { head: 'tool', of: (row) => row['tool'] },
      { head: 'agent', of: (row) => row['agentName'] },
      { head: 'tier', of: (row) => row['agentTier'] },
      { head: 'sub', of: (row) => row['sub'] },
      { head: 'reason', of: reasonOf },
    ],
  });
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function tailAudit({ world, options, print, client }: Asked<Query & { readonly from?: string }>): Promise<void> {
  const signal = world.interruption();
  const entries = tailEntries(world, await client(), { filters: filtersOf(options), from: options.from ?? null, signal, note: print.note });
  let last: string | null = null;
  for await (const { data, id } of entries) {
    const entry = parseRow(data);
    await print.entry(entry, entryLine(entry, print.paint));
    last = id;
  }
  if (last !== null) print.note(`to continue here: --from ${last}`);
}

function entryLine(entry: Row, paint: Paint): string {
  const denied = entry['decision'] === 'deny';
  const decision = denied ? paint.red('deny ') : paint.green('allow');
  const words = [entry['tool'], entry['agentName'], entry['agentTier'], entry['sub']].map((word) => shown(word) || '-');
  return `${shown(entry['ts'])}  ${decision}  ${words.join('  ')}  ${reasonOf(entry)}`;
}

/** Returns the reason of the decision, with the first of the cases that could not be evaluated. */
function reasonOf(entry: Row): string {
  const reason = shown(entry['decisionReason']);
  const [first, ...others] = entry['undecided'] === undefined ? [] : rowsIn(entry, 'undecided');
  if (first === undefined) return reason;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return `${reason} (undecided: ${shown(first['document'])} ${shown(first['path'])}, ${shown(first['reason'])}: ${shown(first['at'])}${more})`;
}

async function exportAudit(asked: Asked<Query>): Promise<ExitCode> {
  const { world, options, print, client } = asked;
  if (options.proof === true || options.after !== undefined)
    return exportProof(asked, given({ ...filtersOf(options), since: options.since, until: options.until }));
  const signal = world.interruption();
  const now = world.now();
  const since = options.since === undefined ? undefined : timeAgo('--since', options.since, now);
  const until = options.until === undefined ? undefined : timeAgo('--until', options.until, now);
  const { stream } = await client();
  const { output } = options;
  let count = 0;
  try {
    const pieces = await stream('GET', `${path}/export`, { query: { ...filtersOf(options), since, until }, signal });
    const copy = async (write: (text: string) => Promise<void>): Promise<void> => {
      for await (const line of linesOf(pieces)) {
        if (line === '') continue;
        const entry = parseRow(line);
        await write(`${safeJson(entry)}\n`);
        count += 1;
      }
    };
    if (output === undefined) await copy((text) => writeAll(world.stdout, text));
    else await writeStream(output, copy);
  } catch (error) {
    if (!signal.aborted) throw error;
    const place = output === undefined ? 'written' : `in ${output}.partial`;
    print.note(count === 0 ? 'interrupted; no entry was written' : `interrupted; ${count} entries are ${place}`);
    return 130;
  }
  print.note(`${count} entries${output === undefined ? '' : ` in ${output}`}`);
  return 0;
}
