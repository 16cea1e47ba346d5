// `tollgate approvals approve`: before it sends anything, the whole call was shown, and the person has said yes to it.
import { given, type Row, textIn } from '../api/answer.ts';
import type { Client } from '../api/client.ts';
import type { Asked } from '../command.ts';
import { Failure } from '../failure.ts';
import { callIn, callWords, countOf, hiddenIn, isCut, revealedAt, seen, stateAndTime } from '../print/approval-lines.ts';
import { agentLines } from '../print/payload.ts';
import {
  answeredLines,
  type Answering,
  checkNote,
  isRevealed,
  onePath,
  printApproval,
  readerOf,
  revealed,
  widthOf,
} from './approvals-answer.ts';

export async function approve(asked: Asked<Answering>): Promise<void> {
  const { world, words, options, print } = asked;
  checkNote(options);
  const ids = [...new Set(words)];
  const asks = options.yes !== true;
  if (asks && (world.prompts === null || print.json))
    throw new Failure(`approve shows the call and asks, which needs a terminal${print.json ? ' and no --json' : ''}`, [
      `see the call first: tollgate approvals show ${seen(ids[0])}; then add --yes`,
    ]);
  const client = await asked.client();
  const approvals: Row[] = [];
  for (const id of ids) approvals.push(await client.ask('GET', onePath(id)));
  for (const approval of approvals) checkAnswerable(approval);
  if (new Set(approvals.map((approval) => approval['question'])).size > 1)
    throw new Failure('these approvals belong to different questions; approve each by itself');
  if (!asks) approvals.forEach(checkRevealed);
  else if (!(await showAndAsk(asked, client, approvals))) return print.note('nothing was answered');
  const [first = '', ...others] = ids;
  const body = given({ note: options.note, with: others.length === 0 ? undefined : others });
  const answer = await client.ask('POST', `${onePath(first)}/approve`, { body });
  await print.lines(answer, print.json ? [] : await answeredLines({ world, client }, answer));
}

function checkAnswerable(approval: Row): void {
  const id = seen(approval['id']);
  if (approval['state'] !== 'pending') throw new Failure(`${id} is ${stateAndTime(approval)}, so it cannot be approved any more`);
  if (isCut(approval)) throw new Failure(`${id} does not show its whole input, so it cannot be approved; deny it`);
}

function checkRevealed(approval: Row): void {
  if (hiddenIn(approval).length === 0 || isRevealed(approval)) return;
  const id = seen(approval['id']);
  throw new Failure(`${id} has values that are not shown, and the tool receives them`, [
    `read them first: tollgate approvals reveal ${id}`,
  ]);
}

/** Shows the calls to the person at the terminal, with what is hidden in them, and asks. The questions are numbered. */
async function showAndAsk(asked: Asked<Answering>, client: Client, approvals: readonly Row[]): Promise<boolean> {
  const { prompts } = asked.world;
  const count = 1 + approvals.filter((approval) => hiddenIn(approval).length > 0).length;
  let number = 0;
  const ask = async (question: string, about: readonly string[] = []): Promise<boolean> => {
    number += 1;
    return (await prompts?.confirm(count === 1 ? question : `${number} of ${count}: ${question}`, about)) === true;
  };
  for (const approval of approvals) {
    await printApproval(asked, client, approval);
    if (hiddenIn(approval).length > 0) await askToReveal(asked, client, approval, ask);
  }
  return ask(questionFor(approvals), aboutCalls(approvals, widthOf(asked.world) ?? 80));
}

/** Asks before it shows what is hidden. A person who has read it before may continue without it. */
async function askToReveal(
  asked: Asked<Answering>,
  client: Client,
  approval: Row,
  ask: (question: string) => Promise<boolean>,
): Promise<void> {
  const id = textIn(approval, 'id');
  const read = revealedAt(approval, await readerOf(client, approval));
  const what = countOf(hiddenIn(approval).length, 'hidden value');
  const isWanted = await ask(
    read === null ? `show the ${what} of ${seen(id)}? It is recorded` : `show the ${what} again? It is recorded; you read this at ${read}`,
  );
  if (isWanted) await revealed(asked, client, id);
  else if (read === null) throw new Failure(`what the tool receives must be read before ${seen(id)} can be approved; nothing was answered`);
}

function questionFor(approvals: readonly Row[]): string {
  const [first] = approvals;
  const what = approvals.length > 1 ? `these ${approvals.length} calls` : seen(first?.['id']);
  return `approve ${what} on behalf of ${seen(first === undefined ? '' : callIn(first)['sub'])}?`;
}

const callsNamedMax = 5;

/** Names the calls below the question, broken where the terminal would break them: the text of an agent begins no line. */
function aboutCalls(approvals: readonly Row[], width: number): readonly string[] {
  const named = approvals.slice(0, callsNamedMax).map((one) => (approvals.length > 1 ? `${seen(one['id'])}  ` : '') + callWords(one));
  const more = approvals.length - named.length;
  return [...named, ...(more === 0 ? [] : [`and ${more} more, shown above`])].flatMap((words) => agentLines(words, width));
}
