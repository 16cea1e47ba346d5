// `tollgate approvals watch`: prints each approval when it is asked for and when its state changes. After each connection
// the pending ones are read, so that a change during a lost connection is printed too.
import { type Row, rowsIn } from '../api/answer.ts';
import type { Client } from '../api/client.ts';
import { followEvents } from '../api/follow.ts';
import { parseRow } from '../api/streams.ts';
import type { Asked } from '../command.ts';
import { callIn, seen, stateAndTime } from '../print/approval-lines.ts';
import type { Paint } from '../print/print.ts';
import { approvalsPath, onePath } from './approvals-answer.ts';

export async function watchApprovals({ world, print, client }: Asked<object>, filters: Row): Promise<void> {
  const signal = world.interruption();
  const connected = await client();
  /** The state of each approval that was printed and is not final, by id. */
  const printed = new Map<string, string>();
  const show = async (approval: Row): Promise<void> => {
    if (!isWanted(approval, filters)) return;
    const id = String(approval['id']);
    const state = stateAndTime(approval);
    if (printed.get(id) === state) return;
    if (isOpen(approval)) printed.set(id, state);
    else printed.delete(id);
    await print.entry(approval, lineOf(approval, print.paint));
  };
  const catchUp = async (): Promise<void> => {
    const pending = await pendingOf(connected, filters);
    const ids = new Set(pending.map(({ id }) => String(id)));
    for (const id of [...printed.keys()].filter((one) => !ids.has(one))) await show(await read(connected, id));
    for (const approval of pending) await show(approval);
  };
  const events = followEvents(world, connected, {
    path: `${approvalsPath}/stream`,
    event: 'approval',
    filters: {},
    from: null,
    signal,
    note: print.note,
    onConnected: catchUp,
  });
  for await (const { data } of events) await show(parseRow(data));
}

/** The stream has the changes of all approvals, so the filters are applied here. */
const isWanted = (approval: Row, filters: Row): boolean =>
  Object.entries(filters).every(([name, value]) => callIn(approval)[name === 'session' ? 'sessionId' : name] === value);

const isOpen = ({ state }: Row): boolean => state === 'pending' || state === 'approved';

const read = (client: Client, id: string): Promise<Row> => client.ask('GET', onePath(id));

/** Returns all pending approvals, oldest first. */
async function pendingOf(client: Client, filters: Row): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (let cursor: string | undefined; ; ) {
    const answer = await client.ask('GET', approvalsPath, { query: { ...filters, state: 'pending', limit: '100', cursor } });
    found.push(...rowsIn(answer, 'approvals'));
    const { next } = answer;
    if (typeof next !== 'string' || next === cursor) return found.toReversed();
    cursor = next;
  }
}

function lineOf(approval: Row, paint: Paint): string {
  const call = callIn(approval);
  const { state } = approval;
  const colour = state === 'pending' ? paint.yellow : state === 'approved' || state === 'used' ? paint.green : paint.red;
  const at = seen(state === 'pending' ? approval['createdAt'] : (approval['answeredAt'] ?? approval['createdAt']));
  const words = [call['tool'], call['agent'], call['sub']].map((word) => seen(word) || '-');
  return `${at}  ${colour(seen(state).padEnd(9))}  ${seen(approval['id'])}  ${words.join('  ')}${state === 'pending' ? `  until ${seen(approval['expiresAt'])}` : stateBy(approval)}`;
}

const stateBy = (approval: Row): string => {
  const [by, note] = [seen(approval['by']), seen(approval['note'])];
  return `${by === '' ? '' : `  by ${by}`}${note === '' ? '' : `: ${note}`}`;
};
