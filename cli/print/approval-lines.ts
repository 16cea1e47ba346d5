// Prints an approval for the person who answers it: everything that they must know, and the whole input. Nothing of it
// reaches the terminal as a control sequence, and nothing that the agent wrote looks like a line of ours.
import { isRow, numberIn, type Row, rowsIn, textIn } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import { visibleJson, visibleText } from './escape.ts';
import { brokenAt, payloadOf, prefix } from './payload.ts';
import type { Paint } from './print.ts';
import { toSecond } from './table.ts';

/** Returns a text of an answer on one line, with every character visible. Null and absent are an empty text. */
export const seen = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'string' ? toSecond(visibleText(value)) : visibleJson(value);

/** A call that is asked for, as `call` of an approval. */
export const callIn = (approval: Row): Row => {
  const { call } = approval;
  return isRow(call) ? call : {};
};

export const hiddenIn = (approval: Row): readonly Row[] => (approval['hidden'] === undefined ? [] : rowsIn(approval, 'hidden'));

/** Who answered, so far: `1 of 2`, or the state with its person. */
export function stateWords(approval: Row): string {
  const state = seen(approval['state']);
  const given = Array.isArray(approval['approvals']) ? approval['approvals'].length : 0;
  const need = approval['need'];
  if (state === 'pending') return typeof need === 'number' && need > 1 ? `pending (${given} of ${need} approved)` : 'pending';
  const [by, at] = [seen(approval['by']), seen(approval['answeredAt'])];
  return `${state}${by === '' ? '' : ` by ${by}`}${at === '' ? '' : ` at ${at}`}`;
}

interface Showing {
  readonly paint: Paint;
  /** The columns of the terminal; null: the output is no terminal. */
  readonly width: number | null;
  /** Other approvals of the same question that are pending. */
  readonly together: readonly Row[];
}

/** Returns the lines of one approval. */
export function approvalLines(approval: Row, { paint, width, together }: Showing): readonly string[] {
  const call = callIn(approval);
  const hidden = hiddenIn(approval);
  const { lines, warnings } = payloadOf({
    input: inputOf(approval),
    hidden: hidden.map((one) => ({ path: textIn(one, 'path'), kind: textIn(one, 'kind') })),
    found: new Map(listed(approval['findings']).map((one) => [textIn(one, 'kind'), numberIn(one, 'count')])),
    width,
  });
  const fact = (name: string, words: string): readonly string[] => factLines(name, words, { paint, width });
  return [
    ...factsOf(approval, call).flatMap(([name, words]) => fact(name, words)),
    ...listed(approval['rules']).flatMap((rule) => fact('rule', ruleWords(rule))),
    ...sessionCalls(approval['session']).flatMap((words) => fact('before', words)),
    ...together.flatMap((one) => fact('together', `${seen(one['id'])}  ${seen(callIn(one)['tool'])}`)),
    paint.bold('input, whole:'),
    ...lines,
    ...hidden.flatMap((one, at) => fact('hidden', hiddenWords(one, at + 1))),
    ...warnings.flatMap((words) => fact('careful', words)),
    ...(isCut(approval) ? fact('careful', 'this is NOT the whole input, so the call cannot be approved') : []),
  ];
}

/** Returns a fact, broken where the terminal would break it: the text of an agent then begins no line. */
function factLines(name: string, words: string, { paint, width }: Pick<Showing, 'paint' | 'width'>): readonly string[] {
  const columns = width === null ? null : Math.max(20, width - nameWidth);
  const colour = name === 'hidden' || name === 'careful' ? paint.yellow : paint.bold;
  return brokenAt(words, columns).map((part, at) => `${colour((at === 0 ? name : '').padEnd(nameWidth))}${part}`);
}

const nameWidth = 10;

/** Whether the approval does not contain the whole input. */
export const isCut = (approval: Row): boolean => approval['inputCut'] !== false;

export const isRevealed = ({ revealedBy }: Row): boolean =>
  Array.isArray(revealedBy) ? revealedBy.length > 0 : revealedBy !== null && revealedBy !== undefined && revealedBy !== '';

const hiddenWords = (one: Row, number: number): string =>
  `value ${number}: ${seen(one['kind'])} at ${visibleJson(one['path'])}, ${seen(one['length'])} characters; the tool receives it`;

/** Returns the lines that show hidden values. A value is text of the agent, so that it begins no line. `width`: as in `Showing`. */
export const revealedLines = (answer: Row, width: number | null): readonly string[] =>
  hiddenIn(answer).flatMap((one, at) => {
    const line = `hidden value ${at + 1} at ${visibleJson(one['path'])}: ${visibleJson(one['value'])}`;
    return brokenAt(line, width === null ? null : Math.max(20, width - prefix.length)).map((part, of) =>
      of === 0 ? part : `${prefix}${part}`,
    );
  });

/** Reads the text that the control plane made for people: a value of JSON could lose a name such as `__proto__` on its way. */
function inputOf(approval: Row): unknown {
  try {
    return JSON.parse(textIn(approval, 'shownText'));
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new Failure('the input in the answer of the control plane is not JSON, so it cannot be shown, and the call cannot be approved');
    throw error;
  }
}

type Fact = readonly [name: string, words: string];

function factsOf(approval: Row, call: Row): readonly Fact[] {
  const claimed = seen(call['claimedClient']);
  const revealed = Array.isArray(approval['revealedBy']) ? approval['revealedBy'].map(seen).join(', ') : '';
  const note = seen(approval['note']);
  const chain =
    Array.isArray(call['agents']) && call['agents'].length > 1 ? ` (started by ${call['agents'].slice(0, -1).map(seen).join(' > ')})` : '';
  return [
    ['approval', `${seen(approval['id'])}  ${stateWords(approval)}`],
    ['tool', seen(call['tool'])],
    ['for', `${seen(call['sub'])}, session ${seen(call['sessionId'])}, key ${seen(call['keyId'])}`],
    ['agent', `${seen(call['agent'])}${chain}, ${seen(call['agentType'])}, tier ${seen(call['tier'])}`],
    ...(claimed === '' ? [] : [['claimed', `${claimed} (the agent says so; it is not proved)`] as const]),
    ['asked', `${seen(approval['createdAt'])}, by policy of revision ${seen(call['revision'])}`],
    ['until', times(approval)],
    ...(note === '' ? [] : [['note', note] as const]),
    ...(revealed === '' ? [] : [['revealed', `to ${revealed}`] as const]),
    ...listed(approval['approvals']).map((one): Fact => ['approved', `by ${seen(one['by'])} at ${seen(one['at'])}`]),
  ];
}

function times(approval: Row): string {
  const uses = `${seen(approval['used'])} of ${seen(approval['uses'])} uses are made`;
  return approval['state'] === 'approved'
    ? `${seen(approval['usableUntil'])}; ${uses}`
    : `${seen(approval['expiresAt'])}; if it is approved, for ${seen(approval['uses'])} ${approval['uses'] === 1 ? 'call' : 'calls'}`;
}

function ruleWords(rule: Row): string {
  const who = Array.isArray(rule['approvers']) ? rule['approvers'].map(seen).join(', ') : '';
  const reason = seen(rule['reason']);
  return `${seen(rule['document'])} ${seen(rule['path'])}: ${seen(rule['need'])} of ${who}${reason === '' ? '' : `; reason: ${reason}`}`;
}

/** The last calls of the session, each in one line. */
const sessionCalls = (session: unknown): readonly string[] =>
  (isRow(session) ? listed(session['calls']) : []).map((one) =>
    ['ts', 'decision', 'tool', 'reason']
      .map((name) => seen(one[name]))
      .filter((word) => word !== '')
      .join(' '),
  );

const listed = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
