// Random steps against a model: two control planes, repeated and reordered messages, people who approve, deny and cancel,
// time that passes. The seed is printed with a failure. Whatever happens, no approval is used more often than its rules
// say, every answer is what the model says, and at the end every approval is in a recorded state.
import type { ApprovalState, AskedCall } from '@tollgate/proto/contract';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expireDue } from '../../../control-plane/approvals/operations/expire.ts';
import { askOf, digestOf, ruleOf } from '../../support/approvals.ts';
import { randomFrom } from '../../support/random.ts';
import { type ApprovalPlane, createApprovalPlane } from './plane.ts';

let plane: ApprovalPlane;
let admin = '';
beforeAll(async () => {
  const base = await createApprovalPlane();
  const fatigue = { sessionPending: 1_000, sessionAsksAnHour: 1_000, subjectPending: 1_000, subjectBytes: 1_000_000_000 };
  plane = Object.assign(base, { deps: Object.assign(base.deps, { approvals: { ...base.deps.approvals, fatigue } }) });
  admin = await plane.keyOf('admin', ['admin.approvals'], 'ada');
  await plane.keyOf('member', ['govern'], 'ann');
});
afterAll(() => plane.close());

interface Modelled {
  readonly call: AskedCall;
  readonly uses: number;
  state: ApprovalState;
  readonly claims: Map<string, 'used' | 'returned'>;
  /** Requests that were told that they have a use. */
  readonly granted: Set<string>;
}

const steps = 250;
const seeds = (process.env['TOLLGATE_TEST_SEED'] ?? `${Date.now() % 1_000_000}`).split(',').map(Number);

const usedOf = ({ claims }: Modelled): number => [...claims.values()].filter((one) => one === 'used').length;
const isFinal = (state: ApprovalState): boolean => state !== 'pending' && state !== 'approved';

test.each(seeds)(
  'random steps of two control planes follow the model (TOLLGATE_TEST_SEED=%i)',
  async (seed) => {
    const random = randomFrom(seed);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] ?? fail();
    const links = [plane.openLink(), plane.openLink()];
    const calls = Array.from({ length: 6 }, (_, at) => {
      const uses = 1 + (at % 3);
      return { uses, call: plane.call({ sessionId: `model-${seed}`, inputSha256: digestOf({ seed, at }), rules: [ruleOf({ uses })] }) };
    });
    const model = new Map<string, Modelled>();
    const openOf = (call: AskedCall) => [...model].find(([, one]) => one.call === call && !isFinal(one.state));
    const deniedOf = (call: AskedCall) => [...model].findLast(([, one]) => one.call === call && one.state === 'denied');

    const ask = async (): Promise<void> => {
      const { call, uses } = pick(calls);
      const met = openOf(call) ?? deniedOf(call);
      // Sent by both at the same time, as after a reconnect.
      for (const result of await Promise.all((random() < 0.3 ? links : [pick(links)]).map((link) => link.ask(askOf(call))))) {
        if (result.kind === 'refused') throw new Error(result.words);
        const { approvalId, state } = result.approval;
        if (met !== undefined)
          expect({ approvalId, state, isNew: result.isNew }).toEqual({ approvalId: met[0], state: met[1].state, isNew: false });
        else if (!model.has(approvalId)) {
          expect(state).toBe('pending');
          model.set(approvalId, { call, uses, state: 'pending', claims: new Map(), granted: new Set() });
        }
      }
    };
    const press = async (): Promise<void> => {
      const [id, one] = pick([...model]);
      const verb = pick(['approve', 'approve', 'approve', 'deny', 'cancel'] as const);
      const { status } = await plane.press(id, verb, verb === 'cancel' ? plane.owner : admin);
      const may = verb === 'cancel' ? !isFinal(one.state) : one.state === 'pending';
      expect({ id, verb, status }).toEqual({ id, verb, status: may ? 200 : 409 });
      if (may) one.state = ({ approve: 'approved', deny: 'denied', cancel: 'cancelled' } as const)[verb];
    };
    const claim = async (): Promise<void> => {
      const [id, one] = pick([...model]);
      const request = `request-${Math.floor(random() * 5)}`;
      const earlier = one.claims.get(request);
      const may = earlier === 'used' || (earlier === undefined && one.state === 'approved');
      const by = random() < 0.4 ? links : [pick(links)];
      const answers = await Promise.all(by.map((link) => link.claim(id, request, one.call)));
      expect(answers.map(({ granted }) => granted)).toEqual(by.map(() => may));
      if (!may) return;
      one.claims.set(request, 'used');
      one.granted.add(request);
      if (one.state === 'approved' && usedOf(one) >= one.uses) one.state = 'used';
    };
    const claimAtOnce = async (): Promise<void> => {
      const [id, one] = pick([...model]);
      const requests = Array.from({ length: 4 }, (_, at) => `burst-${Math.floor(random() * 1_000)}-${at}`);
      const left = one.state === 'approved' ? one.uses - usedOf(one) : 0;
      const answers = await Promise.all(requests.map((request) => pick(links).claim(id, request, one.call)));
      const won = requests.filter((_, at) => answers[at]?.granted === true);
      expect(won).toHaveLength(Math.min(left, requests.length));
      for (const request of won) one.claims.set(request, 'used');
      if (one.state === 'approved' && usedOf(one) >= one.uses) one.state = 'used';
    };
    const giveBack = async (): Promise<void> => {
      const [id, one] = pick([...model]);
      // Sometimes before its claim.
      const request = random() < 0.2 ? `request-${Math.floor(random() * 5)}` : pick([...one.claims.keys(), 'request-9']);
      await Promise.all(links.map((link) => link.returned(id, request)));
      const wasUsed = one.claims.get(request) === 'used';
      one.claims.set(request, 'returned');
      if (wasUsed && one.state === 'used') one.state = openOf(one.call) === undefined ? 'approved' : 'expired';
    };
    const expire = async (): Promise<void> => {
      const [id, one] = pick([...model]);
      if (isFinal(one.state)) return;
      await plane.age(id, 86_401);
      if (random() < 0.5) await Promise.all([expireDue(plane.deps), expireDue(plane.deps)]);
      one.state = 'expired';
    };

    await ask();
    for (let at = 0; at < steps; at += 1) await pick([ask, ask, press, press, claim, claim, claim, claimAtOnce, giveBack, expire])();
    await expireDue(plane.deps);
    for (const [id, one] of model) {
      const shown = await plane.show(id);
      expect({ id, state: shown['state'], used: shown['used'] }).toEqual({ id, state: one.state, used: usedOf(one) });
      expect(usedOf(one)).toBeLessThanOrEqual(one.uses);
      const recorded = shown['steps'] as readonly { readonly action: string; readonly detail: { readonly state: string } }[];
      expect(recorded[0]?.action).toBe('asked');
      expect(recorded.at(-1)?.detail.state).toBe(one.state);
    }
  },
  120_000,
);

function fail(): never {
  throw new Error('there is nothing to choose from');
}
