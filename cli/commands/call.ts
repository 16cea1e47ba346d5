// `tollgate call show`: one recorded call: what was decided, which layer decided it, and what would allow it.
import type { Command } from 'commander';
import { isRow, type Row } from '../api/answer.ts';
import { act, type Asked, type Cli } from '../command.ts';
import type { Paint } from '../print/print.ts';
import { shown } from '../print/table.ts';
import { explanationLines } from './explain.ts';

interface Options {
  readonly at?: string;
}

export function addCallCommands(program: Command, cli: Cli): void {
  program
    .command('call')
    .description('recorded calls')
    .command('show')
    .description('print one call: its decision, the layers that decided it, and what would allow it')
    .argument('<requestId>', 'the request id, which entries of the audit log and denials contain')
    .option('--at <time>', 'the time of one of its entries, if other calls have the same id: ISO 8601')
    .action(act<Options>(cli, showCall));
}

async function showCall({ words, options, print, client }: Asked<Options>): Promise<void> {
  const [requestId = ''] = words;
  const answer = await (await client()).ask('GET', `/{workspace}/admin/calls/${encodeURIComponent(requestId)}`, {
    query: { at: options.at },
  });
  await print.lines(answer, print.json ? [] : callLines(answer, print.paint));
  const more = answer['more'];
  if (typeof more === 'number' && more > 0) print.note(`${more} further entries have this request id; choose a call with --at`);
}

function callLines(answer: Row, paint: Paint): readonly string[] {
  const { before, after, explanation, explainedAt, unexplained, approval, trace, session } = answer;
  return [
    ...(isRow(before) ? decisionLines(before, paint) : ['the entry of the decision is not kept']),
    ...(isRow(after) ? outputLines(after) : []),
    ...(isRow(approval) ? [`approval  ${shown(approval['id'])} is ${shown(approval['state'])}`] : []),
    ...(isRow(trace) ? [`trace     ${shown(trace['url'] ?? trace['traceId'])}`] : []),
    ...(isRow(session) && Array.isArray(session['calls']) ? [`session   ${session['calls'].length} calls around it`] : []),
    '',
    ...(isRow(explanation)
      ? [paint.bold(placeInTime(explainedAt)), ...explanationLines(explanation, paint)]
      : [`not explained: ${shown(unexplained)}`]),
  ];
}

function decisionLines({ decision, decisionReason, tool, agentName, agentTier, sub, originSub, chain, ts }: Row, paint: Paint) {
  const colour = decision === 'allow' ? paint.green : paint.red;
  const agents = Array.isArray(chain) && chain.length > 0 ? chain.map(shown).join(' → ') : shown(agentName);
  return [
    `${colour(shown(decision))}  ${shown(tool)}  ${shown(decisionReason)}`,
    `agent     ${agents} (${shown(agentTier)}), for ${shown(originSub ?? sub)}`,
    `at        ${shown(ts)}`,
  ];
}

function outputLines({ decision, outcome, decisionReason }: Row): readonly string[] {
  if (!isRow(outcome)) return [`output    ${shown(decision)}  ${shown(decisionReason)}`];
  const { isError, durationMs, action } = outcome;
  const result = isError === true ? 'failed' : 'succeeded';
  return [`output    ${result} after ${shown(durationMs)} ms${action === undefined ? '' : `, ${shown(action)}`}`];
}

function placeInTime(explainedAt: unknown): string {
  if (!isRow(explainedAt)) return 'explanation';
  const revision = shown(explainedAt['revision']);
  const since = explainedAt['isCurrent'] === true ? ', which is the same today' : '; it has changed since';
  const guessed = explainedAt['isWhole'] === false ? '; the entry does not name the caller in full, so a part of it is guessed' : '';
  return `by the policy of revision ${revision}${since}${guessed}`;
}
