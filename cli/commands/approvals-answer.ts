// What the commands that show and answer approvals share: the paths, the printed call, and the lines about an answer.
import { type Row, rowsIn } from '../api/answer.ts';
import { type Client, segment } from '../api/client.ts';
import type { Asked } from '../command.ts';
import { Failure } from '../failure.ts';
import { approvalLines, callIn, callWords, countOf, hiddenIn, revealedLines, seen } from '../print/approval-lines.ts';
import { agentLines } from '../print/payload.ts';
import type { Paint } from '../print/print.ts';

export const approvalsPath = '/{workspace}/admin/approvals';
export const onePath = (id: string): string => `${approvalsPath}/${segment(id)}`;

export interface Answering {
  readonly note?: string;
  readonly yes?: true;
  readonly session?: true;
}

/** A note is part of the answer to the model, so it is bounded as there. */
const noteLengthMax = 1_000;

export function checkNote({ note }: Answering): void {
  if (note !== undefined && note.length > noteLengthMax) throw new Failure(`--note must have at most ${noteLengthMax} characters`);
}

interface Look {
  readonly paint: Paint;
  readonly width: number | null;
}

/** Prints an approval, with the calls that were asked for together with it, and what `more` adds to its text. */
export async function printApproval(
  { world, print }: Pick<Asked<object>, 'world' | 'print'>,
  client: Client,
  approval: Row,
  more: (approval: Row, look: Look) => readonly string[] = () => [],
): Promise<void> {
  if (print.json) return print.lines(approval, []);
  const session = callIn(approval)['sessionId'];
  const isWaiting = approval['state'] === 'pending' && typeof session === 'string';
  // A session has at most 10 pending approvals, so they are on one page.
  const pending = isWaiting ? await client.ask('GET', approvalsPath, { query: { state: 'pending', session } }) : { approvals: [] };
  const together = rowsIn(pending, 'approvals').filter((row) => row['question'] === approval['question'] && row['id'] !== approval['id']);
  const look = { paint: print.paint, width: widthOf(world) };
  const reader = await readerOf(client, approval);
  await print.lines(approval, [...approvalLines(approval, { ...look, together, reader }), ...more(approval, look)]);
}

/** Returns the `sub` of the caller if it may have revealed the hidden values of this approval; null: no one has. */
export async function readerOf(client: Client, approval: Row): Promise<string | null> {
  if (hiddenIn(approval).length === 0 || !isRevealed(approval)) return null;
  const { sub } = await client.ask('GET', '/{workspace}/admin/session');
  return typeof sub === 'string' ? sub : null;
}

/** Whether any person has revealed the hidden values. */
export const isRevealed = ({ revealedBy }: Row): boolean => Array.isArray(revealedBy) && revealedBy.length > 0;

/** Returns the columns of the terminal; null: the output is no terminal. */
export const widthOf = ({ stdout }: Asked<object>['world']): number | null => (stdout.isTTY === true ? stdout.columns || 80 : null);

/** Reveals the hidden values, which is recorded each time, and prints them. Returns the answer. */
export async function revealed({ world, print }: Pick<Asked<object>, 'world' | 'print'>, client: Client, id: string): Promise<Row> {
  const answer = await client.ask('POST', `${onePath(id)}/reveal`);
  await print.lines(answer, revealedLines(answer, { paint: print.paint, width: widthOf(world) }));
  return answer;
}

/**
 * Returns the lines about approvals that were just answered: what became of each, and which call it is. The answer holds
 * whether they can be read or not, so a call that cannot be read is left out.
 */
export async function answeredLines(
  { world, client }: { readonly world: Asked<object>['world']; readonly client: Client },
  answer: Row,
): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { id, state } of rowsIn(answer, 'states')) {
    const approval = await readOrNull(client, String(id));
    lines.push(`${seen(id)} ${stateAfter(state, approval)}`);
    if (approval !== null) lines.push(...agentLines(callWords(approval), widthOf(world)));
  }
  return lines;
}

/** Says what became of an approval. One that is pending after an approval needs another person. */
function stateAfter(state: unknown, approval: Row | null): string {
  if (state === 'pending') return 'is approved by you, and needs the approval of another person';
  if (state !== 'approved' || approval === null || approval['state'] !== 'approved') return `is ${seen(state)}`;
  return `is approved for ${countOf(Number(approval['uses']), 'call')} until ${seen(approval['usableUntil'])}`;
}

async function readOrNull(client: Client, id: string): Promise<Row | null> {
  try {
    return await client.ask('GET', onePath(id));
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}
