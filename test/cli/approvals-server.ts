// A stand-in for the routes of approvals: it keeps what was asked of it, and answers with the approvals that a test gives.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { isRow } from '../../cli/api/answer.ts';
import { keyText } from '../support/snapshots.ts';
import { createCli } from './cli.ts';

export type Approval = Readonly<Record<string, unknown>>;

export const approval = (id: string, over: Approval = {}, call: Approval = {}): Approval => ({
  id,
  question: 'q1',
  state: 'pending',
  createdAt: '2026-11-26T10:00:00.000Z',
  expiresAt: '2026-11-27T10:00:00.000Z',
  usableUntil: null,
  answeredAt: null,
  by: null,
  note: null,
  uses: 1,
  used: 0,
  need: 1,
  approvals: [],
  call: {
    tool: 'payments.send',
    agent: 'billing',
    agentType: 'billing::interactive::billing',
    agents: ['billing'],
    tier: 'interactive',
    sub: 'ana',
    sessionId: 's1',
    keyId: 'key1',
    revision: 4,
    claimedClient: '',
    ...call,
  },
  rules: [{ document: 'workspace', path: 'tools["payments.send"].interactive', approvers: ['role:admin'], need: 1, reason: null }],
  shownInput: { amount: 250, to: 'DE89' },
  shownText: '{"amount":250,"to":"DE89"}',
  inputCut: false,
  findings: [],
  hidden: [],
  revealedBy: [],
  why: null,
  steps: [],
  session: { calls: [] },
  ...over,
});

interface Asked {
  readonly what: string;
  readonly body: unknown;
}

interface Parts {
  readonly approvals: readonly Approval[];
  /** Answers in place of the usual answer; false: it did not. */
  readonly instead?: (what: string, response: ServerResponse) => boolean;
}

export async function serveApprovals({ approvals, instead = () => false }: Parts) {
  const asked: Asked[] = [];
  const current = new Map(approvals.map((one) => [String(one['id']), one]));
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let text = '';
    for await (const piece of request) text += String(piece);
    const url = new URL(request.url ?? '', 'http://fake');
    const what = `${request.method ?? ''} ${url.pathname.slice(url.pathname.indexOf('/admin/approvals') + '/admin/approvals'.length)}${url.search}`;
    asked.push({ what, body: text === '' ? null : JSON.parse(text) });
    if (instead(what, response)) return;
    const say = (status: number, body: unknown): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (url.pathname.endsWith('/admin/session')) return say(200, { sub: 'bob' });
    const [, id = '', action = ''] = url.pathname.slice(url.pathname.indexOf('/admin/approvals') + '/admin/approvals'.length).split('/');
    const state = url.searchParams.get('state');
    if (id === '')
      return say(200, { approvals: [...current.values()].toReversed().filter((one) => state === null || one['state'] === state) });
    const one = current.get(id);
    if (one === undefined) return say(404, { error: `there is no approval ${id}` });
    if (action === '') return say(200, one);
    if (action === 'reveal') {
      const step = { at: '2026-11-26T10:00:45.000Z', action: 'revealed', sub: 'bob', keyId: 'key1', detail: {} };
      current.set(id, { ...one, revealedBy: ['bob'], steps: [...(Array.isArray(one['steps']) ? one['steps'] : []), step] });
      return say(200, { hidden: one['hidden'] });
    }
    const body: unknown = text === '' ? {} : JSON.parse(text);
    const others: readonly string[] = isRow(body) && Array.isArray(body['with']) ? body['with'].map(String) : [];
    const states = [id, ...others].map((each) => {
      const was = current.get(each) ?? {};
      const isEnough = action !== 'approve' || was['need'] === 1;
      const state = isEnough ? stateAfter.get(action) : 'pending';
      const usableUntil = state === 'approved' ? '2026-11-26T10:16:00.000Z' : null;
      current.set(each, { ...was, state, by: 'bob', answeredAt: '2026-11-26T10:01:00.000Z', usableUntil });
      return { id: each, state };
    });
    return say(200, { states });
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return { cli: createCli(origin, keyText('key1')), asked, writes: () => asked.filter(({ what }) => !what.startsWith('GET')), current };
}

const stateAfter: ReadonlyMap<string, string> = new Map([
  ['approve', 'approved'],
  ['deny', 'denied'],
  ['cancel', 'cancelled'],
]);
