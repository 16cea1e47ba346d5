// Prints an approval for the person who answers it: everything that they must know, and the whole input. Nothing of it
// reaches the terminal as a control sequence, and nothing that the agent wrote looks like a line of ours.
import { isRow, numberIn, type Row, rowsIn, textIn } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import { briefInput } from './brief.ts';
import { visibleJson, visibleText } from './escape.ts';
import { brokenAt, brokenAtWords, payloadLines, prefix } from './payload.ts';
import type { Paint } from './print.ts';
import { toSecond } from './table.ts';
import { warningsOf } from './warnings.ts';

/** Returns a text of an answer on one line, with every character visible. Null and absent are an empty text. */
export const seen = (value: unknown): string =>
  value === null || value === undefined ? '' : typeof value === 'string' ? toSecond(visibleText(value)) : visibleJson(value);

/** A call that is asked for, as `call` of an approval. */
export const callIn = (approval: Row): Row => {
  const { call } = approval;
  return isRow(call) ? call : {};
};

export const hiddenIn = (approval: Row): readonly Row[] => (approval['hidden'] === undefined ? [] : rowsIn(approval, 'hidden'));

/** The state with its person, or who answered so far: `pending (1 of 2 approved)`. */
export function stateWords(approval: Row): string {
  const state = seen(approval['state']);
  const given = Array.isArray(approval['approvals']) ? approval['approvals'].length : 0;
  const need = approval['need'];
  if (state === 'pending') return typeof need === 'number' && need > 1 ? `pending (${given} of ${need} approved)` : 'pending';
  const by = seen(approval['by']);
  return by === '' ? state : `${state} by ${by}`;
}

/** As `stateWords`, with the time of the answer. */
export function stateAndTime(approval: Row): string {
  const at = seen(approval['answeredAt']);
  return approval['state'] === 'pending' || at === '' ? stateWords(approval) : `${stateWords(approval)} at ${at}`;
}

interface Showing {
  readonly paint: Paint;
  /** The columns of the terminal; null: the output is no terminal. */
  readonly width: number | null;
  /** Other approvals of the same question that are pending. */
  readonly together: readonly Row[];
  /** The `sub` of the person who reads; null: it is not known. */
  readonly reader: string | null;
}

/** Returns the lines of one approval. */
export function approvalLines(approval: Row, { paint, width, together, reader }: Showing): readonly string[] {
  const call = callIn(approval);
  const input = inputOf(approval);
  const hidden = hiddenIn(approval);
  const lines = payloadLines({
    input,
    hidden: hidden.map((one) => ({ path: textIn(one, 'path'), kind: textIn(one, 'kind') })),
    found: new Map(listed(approval['findings']).map((one) => [textIn(one, 'kind'), numberIn(one, 'count')])),
    width,
  });
  const fact = (name: string, words: string): readonly string[] => factLines(name, words, { paint, width });
  return [
    ...factsOf(approval, call).flatMap(([name, words]) => fact(name, words)),
    ...listed(approval['rules']).flatMap((rule) => fact('rule', ruleWords(rule))),
    ...sessionCalls(approval['session']).flatMap((words) => fact('before', words)),
    ...together.flatMap((one) => fact('together', `${seen(one['id'])}  ${callWords(one)}`)),
    paint.bold(headOf(approval, hidden.length)),
    ...lines,
    ...hiddenFacts(approval, reader).flatMap(([name, words]) => fact(name, words)),
    ...warningsOf(input).flatMap((words) => fact('warning', words)),
    ...(isCut(approval) ? fact('warning', 'this is NOT the whole input, so the call cannot be approved') : []),
  ];
}

/** Returns the lines that say how a pending approval is answered. */
export function answerLines(approval: Row, { paint, width }: Pick<Showing, 'paint' | 'width'>): readonly string[] {
  if (approval['state'] !== 'pending') return [];
  const id = seen(approval['id']);
  const approve = `tollgate approvals approve ${id} [--note <text>]`;
  const facts: readonly Fact[] = [
    ...(isCut(approval) ? [] : [['approve', approve] as const, ['', 'on a terminal it asks you first; elsewhere add --yes'] as const]),
    ['deny', `tollgate approvals deny ${id} [--note <why>]`],
    ['', 'it does not ask; the agent reads the note'],
  ];
  return facts.flatMap(([name, words]) => factLines(name, words, { paint, width }));
}

function headOf(approval: Row, hidden: number): string {
  if (isCut(approval)) return 'input (NOT whole):';
  return hidden === 0 ? 'input, whole:' : `input (${countOf(hidden, 'value')} hidden):`;
}

/** Returns a number with its word: `1 value`, `2 values`. */
export const countOf = (count: number, word: string): string => `${count} ${word}${count === 1 ? '' : 's'}`;

/** Returns the tool and the input of a call on one short line. It has text of an agent. */
export const callWords = (approval: Row): string => `${seen(callIn(approval)['tool'])}  ${inputWords(approval)}`;

/** Returns the input of a call on one short line. An input that cannot be read gets words: other calls are shown next to it. */
export function inputWords(approval: Row): string {
  try {
    return briefInput(
      inputOf(approval),
      hiddenIn(approval).map((one) => textIn(one, 'path')),
    );
  } catch (error) {
    if (error instanceof Failure) return '(the input cannot be read)';
    throw error;
  }
}

/** Returns a fact, broken where the terminal would break it: the text of an agent then begins no line. */
function factLines(name: string, words: string, { paint, width }: Pick<Showing, 'paint' | 'width'>): readonly string[] {
  const columns = width === null ? null : Math.max(20, width - nameWidth);
  const colour = name === 'hidden' || name === 'warning' ? paint.yellow : paint.bold;
  return brokenAtWords(words, columns).map((part, at) => `${colour((at === 0 ? name : '').padEnd(nameWidth))}${part}`);
}

const nameWidth = 10;

/** Whether the approval does not contain the whole input. */
export const isCut = (approval: Row): boolean => approval['inputCut'] !== false;

/** Returns when a person has revealed the hidden values last; null: never, or the answer has no steps. */
export function revealedAt(approval: Row, reader: string | null): string | null {
  const steps = listed(approval['steps']).filter(({ action, sub }) => action === 'revealed' && sub === reader);
  return reader === null || steps.length === 0 ? null : seen(steps.at(-1)?.['at']);
}

/** Says what is hidden, and once what becomes of it. A denied or expired call is not made, and its values are erased. */
function hiddenFacts(approval: Row, reader: string | null): readonly Fact[] {
  const hidden = hiddenIn(approval);
  const { state } = approval;
  const places = hidden.map(
    (one, at): Fact => [
      'hidden',
      `value ${at + 1}: ${seen(one['kind'])} at ${visibleJson(one['path'])}, ${countOf(Number(one['length']), 'character')}`,
    ],
  );
  const isSent = state === 'pending' || state === 'approved' || state === 'used';
  if (hidden.length === 0 || !isSent) return places;
  const fate = 'from you here, sent in full to the tool';
  if (state !== 'pending') return [...places, ['hidden', fate]];
  const read = revealedAt(approval, reader);
  return [
    ...places,
    ['hidden', `${fate}; ${read === null ? 'see it with:' : `you read it at ${read}; again:`}`],
    ['', `tollgate approvals reveal ${seen(approval['id'])}`],
  ];
}

/** Returns the lines that show hidden values. A value is text of the agent, so that it begins no line. `width`: as in `Showing`. */
export const revealedLines = (answer: Row, { paint, width }: Pick<Showing, 'paint' | 'width'>): readonly string[] => [
  ...hiddenIn(answer).flatMap((one, at) => {
    const line = `hidden value ${at + 1} at ${visibleJson(one['path'])}: ${visibleJson(one['value'])}`;
    return brokenAt(line, width === null ? null : Math.max(20, width - prefix.length)).map((part, of) =>
      of === 0 ? part : `${prefix}${part}`,
    );
  }),
  ...hiddenIn(answer)
    .flatMap((one) => warningsOf(one['value'], textIn(one, 'path')))
    .flatMap((words) => factLines('warning', words, { paint, width })),
];

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
  const claimed = call['claimedClient'] ?? '';
  const revealed = Array.isArray(approval['revealedBy']) ? approval['revealedBy'].map(seen).join(', ') : '';
  const note = seen(approval['note']);
  const chain =
    Array.isArray(call['agents']) && call['agents'].length > 1 ? ` (started by ${call['agents'].slice(0, -1).map(seen).join(' > ')})` : '';
  return [
    ['approval', `${seen(approval['id'])}  ${stateAndTime(approval)}`],
    ['tool', seen(call['tool'])],
    ['on behalf', `of ${seen(call['sub'])}, session ${seen(call['sessionId'])}, key ${seen(call['keyId'])}`],
    ['agent', `${seen(call['agent'])}${chain}, ${seen(call['agentType'])}, tier ${seen(call['tier'])}`],
    ...(claimed === '' ? [] : [['claimed', `to be the client ${visibleJson(claimed)}; this is not proved`] as const]),
    ['asked', `${seen(approval['createdAt'])}, by policy of revision ${seen(call['revision'])}`],
    ...timesOf(approval),
    ...(note === '' ? [] : [['note', note] as const]),
    ...(revealed === '' ? [] : [['revealed', `to ${revealed}`] as const]),
    ...listed(approval['approvals']).map((one): Fact => ['approved', `by ${seen(one['by'])} at ${seen(one['at'])}`]),
  ];
}

/** Until when, and how often. An answered call that is not made any more has neither. */
function timesOf(approval: Row): readonly Fact[] {
  const { state, uses, used } = approval;
  const calls = countOf(Number(uses), 'call');
  if (state === 'pending')
    return [
      ['until', `${seen(approval['expiresAt'])} it can be answered`],
      ['permits', `${calls} if approved, within a time that begins with the answer`],
    ];
  if (state === 'approved') return [['until', `${seen(approval['usableUntil'])} it permits ${calls}; ${seen(used)} made so far`]];
  return state === 'used' ? [['permitted', `${calls}; ${seen(used)} made`]] : [];
}

function ruleWords(rule: Row): string {
  const who = Array.isArray(rule['approvers']) ? rule['approvers'].map(seen).join(', ') : '';
  const reason = seen(rule['reason']);
  return `${seen(rule['document'])} ${seen(rule['path'])}: ${seen(rule['need'])} of ${who}${reason === '' ? '' : `; reason: ${reason}`}`;
}

/** The last calls of the session, each in one line. What waited for a person was not denied by one. */
const sessionCalls = (session: unknown): readonly string[] =>
  (isRow(session) ? listed(session['calls']) : []).map((one) =>
    (one['code'] === 'approval_pending'
      ? [seen(one['ts']), seen(one['tool']), 'pending, not answered at that time']
      : ['ts', 'decision', 'tool', 'reason'].map((name) => seen(one[name]))
    )
      .filter((word) => word !== '')
      .join(' '),
  );

const listed = (value: unknown): readonly Row[] => (Array.isArray(value) ? value.filter(isRow) : []);
