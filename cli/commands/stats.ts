// `tollgate stats …`: counts of decisions and redactions over a time, what runs cost today, and agents that call and
// are not registered.
import { type Command, Option } from 'commander';
import { given, numberIn, type Row, rowIn, rowsIn, textIn } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import type { Printer } from '../print/print.ts';
import { shown, toSecond } from '../print/table.ts';
import { timeAgo } from '../time.ts';

const path = '/{workspace}/admin';

interface Query {
  readonly by?: string;
  readonly every?: string;
  readonly since?: string;
  readonly until?: string;
  readonly top?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly outcome?: string;
  readonly decision?: string;
  readonly tool?: string;
  readonly agent?: string;
  readonly reason?: string;
}

const outcomes = ['allow', 'redact', 'ask', 'limit', 'deny'];

export function addStatsCommands(program: Command, cli: Cli): void {
  const group = program.command('stats').description('counts of the recorded decisions, and what runs cost');
  withRange(group.command('decisions', { isDefault: true }).description('count decisions, the largest group first'))
    .addOption(new Option('--by <group>', 'what to count by; default: outcome').choices(['outcome', 'decision', 'tool', 'agent', 'reason']))
    .addOption(
      new Option(
        '--outcome <outcome>',
        'only this outcome; limit: over a limit or a cap; ask: a person must approve the call; redact: allowed, and redacted',
      ).choices(outcomes),
    )
    .addOption(new Option('--decision <decision>', 'only this decision').choices(['allow', 'deny']))
    .option('--tool <name>', 'only this tool')
    .option('--agent <name>', 'only this agent')
    .option('--reason <code>', 'only this code, such as policy_denied')
    .addHelpText(
      'after',
      `
Examples:
  tollgate stats --since 24h                                    decisions of a day by outcome
  tollgate stats decisions --by tool --outcome deny --since 7d  the tools that are denied most
  tollgate stats decisions --by reason --tool github.merge      why calls of this tool were denied
  tollgate stats decisions --every hour --since 2d --json       with the counts of each hour`,
    )
    .action(act(cli, countDecisions));
  withRange(group.command('redactions').description('count what was redacted, by its kind')).action(act(cli, countRedactions));
  group
    .command('spend')
    .description('show what runs cost today (UTC), by user and by agent')
    .option('--limit <count>', 'maximum number of users, and of agents; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, showSpend));
  group
    .command('unknown-agents')
    .description('list agents that called and are not registered')
    .option('--since <time>', 'start: ISO 8601, or a duration before now, such as 7d; default: 30d')
    .option('--limit <count>', 'maximum number; default: 200')
    .option('--cursor <next>', 'continue after the previous answer')
    .action(act(cli, listUnknownAgents));
}

const withRange = (command: Command): Command =>
  command
    .option('--since <time>', 'start: ISO 8601, or a duration before now, such as 24h; default: 1h')
    .option('--until <time>', 'end: ISO 8601, or a duration before now; default: now')
    .addOption(
      new Option('--every <bucket>', 'what --json counts separately; default: minute up to 3 hours, hour up to 8 days, else day').choices([
        'minute',
        'hour',
        'day',
      ]),
    )
    .option('--top <count>', 'maximum number of groups, at most 50; default: 10')
    .option('--cursor <next>', 'continue after the previous answer');

function rangeOf({ options, world }: Asked<Query>): Row {
  const { every, top, cursor } = options;
  const at = (option: string, text: string | undefined) => (text === undefined ? undefined : timeAgo(option, text, world.now()));
  return given({ every, top, cursor, since: at('--since', options.since), until: at('--until', options.until) });
}

async function countDecisions(asked: Asked<Query>): Promise<void> {
  const { by, outcome, decision, tool, agent, reason } = asked.options;
  const query = given({ by, outcome, decision, tool, agent, reason, ...rangeOf(asked) });
  const answer = await (await asked.client()).ask('GET', `${path}/stats/decisions`, { query });
  await showGroups(asked.print, answer, { head: by ?? 'outcome', empty: 'no call was decided' });
}

async function countRedactions(asked: Asked<Query>): Promise<void> {
  const answer = await (await asked.client()).ask('GET', `${path}/stats/redactions`, { query: rangeOf(asked) });
  await showGroups(asked.print, answer, { head: 'kind', empty: 'nothing was redacted' });
}

async function showGroups(print: Printer, answer: Row, { head, empty }: { readonly head: string; readonly empty: string }): Promise<void> {
  const total = numberIn(answer, 'total');
  const range = `from ${toSecond(textIn(answer, 'since'))} to ${toSecond(textIn(answer, 'until'))}`;
  await print.table(answer, rowsIn(answer, 'groups'), {
    empty: `${empty} ${range}`,
    columns: [
      { head, of: (row) => shown(row['value']) || '(none)' },
      { head: 'count', of: (row) => row['total'] },
      { head: 'share', of: (row) => `${((100 * numberIn(row, 'total')) / total).toFixed(1)} %` },
      { head: 'newest', of: (row) => row['lastAt'] },
    ],
  });
  if (print.json) return;
  if (total > 0) print.note(`${total} ${range}`);
  const rest = rowIn(answer, 'rest');
  if ('next' in answer)
    print.note(`there are ${numberIn(rest, 'values')} more, with ${numberIn(rest, 'total')}: --cursor ${textIn(answer, 'next')}`);
}

async function showSpend({ options, print, client }: Asked<Query>): Promise<void> {
  const { limit, cursor } = options;
  const answer = await (await client()).ask('GET', `${path}/stats/spend`, { query: given({ limit, cursor }) });
  const rows = [
    ...rowsIn(answer, 'users').map((row) => ({ of: 'user', name: row['sub'], cents: row['cents'] })),
    ...rowsIn(answer, 'agents').map((row) => ({ of: 'agent', name: row['name'], cents: row['cents'] })),
  ];
  await print.table(answer, rows, {
    empty: `no run has cost anything on ${textIn(answer, 'day')} (UTC)`,
    columns: [
      { head: 'of', of: (row) => row['of'] },
      { head: 'name', of: (row) => row['name'] },
      { head: 'cents', of: (row) => row['cents'] },
    ],
  });
  if (print.json) return;
  print.note(`each user may spend ${numberIn(answer, 'capCents')} cents until ${toSecond(textIn(answer, 'resetsAt'))}`);
  if ('next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}

async function listUnknownAgents({ world, options, print, client }: Asked<Query>): Promise<void> {
  const { limit, cursor } = options;
  const since = options.since === undefined ? undefined : timeAgo('--since', options.since, world.now());
  const answer = await (await client()).ask('GET', `${path}/unknownAgents`, { query: given({ since, limit, cursor }) });
  await print.table(answer, rowsIn(answer, 'agents'), {
    empty: `since ${toSecond(textIn(answer, 'since'))}, only registered agents have called`,
    columns: [
      { head: 'agent', of: (row) => row['name'] },
      { head: 'calls', of: (row) => row['calls'] },
      { head: 'denied', of: (row) => row['denied'] },
      { head: 'first call', of: (row) => row['firstAt'] },
      { head: 'newest call', of: (row) => row['lastAt'] },
    ],
  });
  if (!print.json && 'next' in answer) print.note(`there is more: --cursor ${textIn(answer, 'next')}`);
}
