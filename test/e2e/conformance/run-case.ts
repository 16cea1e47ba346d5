// Runs one case with one client, and says what was not as the case expects it.
import { ask, eventually } from '../../support/programs.ts';
import { type Case, type ClientName, differences, expectedOf, type Step } from './cases.ts';
import type { Answered, CaseClient, OpenClient } from './clients.ts';

export interface Stand {
  readonly rest: string;
  readonly owner: string;
  /** The key of a person who may answer. */
  readonly person: string;
}

export interface Running {
  readonly stand: Stand;
  readonly client: ClientName;
  readonly open: OpenClient;
  /** Tells the runs of one case apart. */
  readonly session: string;
}

/** Returns the problems; empty: the client does what the case says. */
export async function runCase(one: Case, { stand, client, open, session }: Running): Promise<readonly string[]> {
  const opened = open(one, session);
  const problems: string[] = [];
  const wanted: unknown[] = [];
  let approval = '';
  for (const [at, step] of one.steps.entries()) {
    if (step.person !== undefined) approval = await answerApproval(stand, session, step);
    else if (step.until !== undefined) await untilState(stand, approval, step.until);
    else {
      const expected = expectedOf(step, client);
      const { answer, refusals } = await takenInTime(opened, step, codeOf(expected.answer));
      problems.push(...differences(expected.answer, answer, `steps[${at}].answer`));
      for (const code of refusals) wanted.push({ at, entry: { decision: 'deny', code } });
      if (expected.entry != null) wanted.push({ at, entry: expected.entry });
    }
  }
  if (one.world === 'no policy') return problems;
  // Its entry is the last one, so an entry that should not be there is found too.
  await opened.call({ tool: lastTool, input: {} });
  const entries = await entriesOf(stand, opened.sessions);
  if (entries.length !== wanted.length) problems.push(`${wanted.length} entries are expected, there are ${JSON.stringify(entries)}`);
  for (const [nth, expected] of wanted.entries()) {
    const { at, entry } = expected as { readonly at: number; readonly entry: unknown };
    problems.push(...differences(entry, entries[nth], `steps[${at}].entry`));
  }
  return problems;
}

const lastTool = 'conformance.last';

const codeOf = (answer: unknown): unknown => (answer as { readonly code?: unknown }).code;

/** Denials that a slow machine can cause: the control plane did not answer in the time that a call waits for it. */
const waits: ReadonlySet<unknown> = new Set(['rate_limited', 'cap_tool_calls', 'approval_unavailable']);
/** Takes a step again while it is denied only because the control plane was slow. `refusals`: the codes of those. */
async function takenInTime(
  client: CaseClient,
  step: Step,
  code: unknown,
): Promise<{ readonly answer: Answered; readonly refusals: readonly unknown[] }> {
  const answers: Answered[] = [];
  const answer = await eventually(
    async () => {
      const one = await taken(client, step);
      answers.push(one);
      return one;
    },
    (one) => one['code'] === code || one['kind'] !== 'retry' || !waits.has(one['code']),
  );
  return { answer, refusals: answers.slice(0, -1).map((one) => one['code']) };
}

function taken(client: CaseClient, { call, body, output, isError = false, reserve, settle }: Step): Promise<Answered> {
  if (call !== undefined) return client.call(call);
  if (body !== undefined) return client.body(body);
  if (reserve !== undefined) return client.cost('reserve', reserve);
  if (settle !== undefined) return client.cost('settle', settle);
  return client.output(output, isError);
}

interface Entry {
  readonly tool: string;
}

/** Returns the entries of these sessions, when the last one is there. */
async function entriesOf({ rest, owner }: Stand, sessions: readonly string[]): Promise<readonly Entry[]> {
  const read = async (): Promise<readonly Entry[]> => {
    const found = await Promise.all(
      sessions.map((id) => ask(`${rest}/default/admin/audit?session=${encodeURIComponent(id)}&limit=1000`, owner)),
    );
    return found.flatMap(({ body }) => (body['entries'] as readonly Entry[]).toReversed());
  };
  await eventually(read, (entries) => entries.some(({ tool }) => tool === lastTool));
  return (await read()).filter(({ tool }) => tool !== lastTool);
}

interface Approval {
  readonly id: string;
  readonly state: string;
}

async function answerApproval({ rest, person }: Stand, session: string, { person: how, note }: Step): Promise<string> {
  const read = async (): Promise<readonly Approval[]> => {
    const { body } = await ask(`${rest}/default/admin/approvals?session=${encodeURIComponent(session)}`, person);
    return body['approvals'] as readonly Approval[];
  };
  const isPending = ({ state }: Approval): boolean => state === 'pending';
  const pending = (await eventually(read, (all) => all.some(isPending))).find(isPending);
  const { id } = pending ?? { id: '' };
  const { status, body } = await ask(`${rest}/default/admin/approvals/${id}/${how}`, person, { body: { note } });
  if (status !== 200) throw new Error(`an approval was answered ${status} ${JSON.stringify(body)}`);
  return id;
}

async function untilState({ rest, person }: Stand, id: string, state: string): Promise<void> {
  await eventually(
    () => ask(`${rest}/default/admin/approvals/${id}`, person),
    ({ body }) => body['state'] === state,
  );
}
