// `tollgate audit …`: shows the decisions. `tail` runs until Ctrl-C, reconnects after a lost connection, and prints
// each entry once. `export` writes everything or fails.
import { type Command, Option } from 'commander';
import { given, type Row, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli, type ExitCode } from '../command.ts';
import { safeJson } from '../print/escape.ts';
import { writeStream } from '../files.ts';
import { type Paint, writeAll } from '../print/print.ts';
import { linesOf, parseRow } from '../api/streams.ts';
import { shown } from '../print/cell.ts';
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
  const group = program.command('audit').description('what was decided, of which call, for whom');
  withFilters(group.command('query').description('entries, newest first'))
    .option('--since <time>', 'from when: ISO 8601, or before now, as 1h; without: 15m')
    .option('--limit <count>', 'how many at most; without: 200')
    .option('--cursor <next>', 'continue where the previous answer ended')
    .action(act(cli, queryAudit));
  withFilters(group.command('tail').description('entries as they come, until Ctrl-C; NDJSON with --json'))
    .option('--from <id>', 'first everything after this place, which tail names when it ends; 0: all that is kept')
    .action(act(cli, tailAudit));
  withFilters(group.command('export').description('entries as NDJSON'))
    .option('-o, --output <file>', 'write there; what a broken or interrupted export leaves is in <file>.partial')
    .option('--since <time>', 'from when: ISO 8601, or before now, as 7d')
    .option('--until <time>', 'until when')
    .option('--proof', 'everything, with its hash chain and a checkpoint, for: audit verify')
    .option('--after <checkpoint>', 'of the proof, only what came after this checkpoint: a file, or the number of its items')
    .action(act(cli, exportAudit));
  addProofCommands(group, cli);
}

const withFilters = (command: Command): Command =>
  command
    .option('--tool <name>', 'of this tool')
    .addOption(new Option('--decision <decision>', 'of this decision').choices(['allow', 'deny']))
    .option('--agent <name>', 'of this agent')
    .option('--sub <uid>', 'for this member or service key')
    .option('--session <id>', 'of this session');

const filtersOf = ({ tool, decision, agent, sub, session }: Filters): Row => given({ tool, decision, agent, sub, session });

async function queryAudit({ world, options, print, client }: Asked<Query>): Promise<void> {
  const { limit, cursor } = options;
  const since = options.since === undefined ? undefined : timeAgo('--since', options.since, world.now());
  const answer = await (await client()).ask('GET', path, { query: { ...filtersOf(options), since, limit, cursor } });
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
      { head: 'reason', of: (row) => row['decisionReason'] },
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
  if (last !== null) print.note(`--from ${last} continues here`);
}

function entryLine(entry: Row, paint: Paint): string {
  const denied = entry['decision'] === 'deny';
  const decision = denied ? paint.red('deny ') : paint.green('allow');
  const words = [entry['tool'], entry['agentName'], entry['agentTier'], entry['sub']].map((word) => shown(word) || '-');
  return `${shown(entry['ts'])}  ${decision}  ${words.join('  ')}  ${shown(entry['decisionReason'])}`;
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
    print.note(count === 0 ? 'interrupted; nothing is written' : `interrupted; ${count} entries are ${place}`);
    return 130;
  }
  print.note(`${count} entries${output === undefined ? '' : ` in ${output}`}`);
  return 0;
}
