import type { ApprovalAsk, ApprovalLink } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { keepApprovals } from '../../../../sidecar/engine/approvals/approval-keeper.ts';
import type { OpenApprovals } from '../../../../sidecar/engine/approvals/asked-link.ts';
import { askFor } from '../../../support/approval-asks.ts';
import { ApprovalLedger } from '../../../support/approval-ledger.ts';
import { createManualClock } from '../../../support/manual-clock.ts';

const log = { info: () => undefined };
const settled = (): Promise<void> => new Promise((done) => void setImmediate(done));
const forever = Number.POSITIVE_INFINITY;

function start(around: (open: OpenApprovals) => OpenApprovals = (open) => open) {
  const clock = createManualClock();
  const ledger = new ApprovalLedger(clock);
  const keeper = keepApprovals({ clock, random: () => 0.5, log, open: around(ledger.open) });
  const hold = (ask: ApprovalAsk, holdMs = 60_000) => keeper.ask(ask, { until: clock.now() + holdMs, answeredBy: forever });
  return { clock, ledger, keeper, hold };
}

const unreachable: ApprovalLink = {
  ask: () => expect.fail('the link never opened'),
  watch: () => undefined,
  claim: () => expect.fail('the link never opened'),
  returnUse: () => undefined,
  read: () => expect.fail('the link never opened'),
  close: () => undefined,
};

/** A link that can be cut. `messages`: what was sent over each connection. */
function cuttable() {
  const connections: { readonly cut: () => void; readonly sent: string[] }[] = [];
  const state = { isSilent: false };
  const around =
    (open: OpenApprovals): OpenApprovals =>
    (hearing) => {
      const link = open(hearing);
      const sent: string[] = [];
      const never = new Promise<never>(() => undefined);
      connections.push({ cut: () => hearing.lost('cut', false), sent });
      const passed = async <T>(name: string, answer: () => Promise<T>): Promise<T> => {
        sent.push(name);
        const answered = await answer();
        return state.isSilent ? never : answered;
      };
      const wrapped: ApprovalLink = {
        ask: (ask) => passed('ask', () => link.ask(ask)),
        claim: (...claim) => passed('claim', () => link.claim(...claim)),
        read: (...read) => passed('read', () => link.read(...read)),
        watch: (id) => {
          sent.push(`watch ${id}`);
          link.watch(id);
        },
        returnUse: (id, request) => {
          sent.push(`return ${id} ${request}`);
          link.returnUse(id, request);
        },
        close: () => link.close(),
      };
      return wrapped;
    };
  return { around, connections, state };
}

test('a call is held until a person has answered', async () => {
  const { ledger, keeper, hold } = start();
  const asking = hold(askFor());
  await settled();
  expect(keeper.status()).toMatchObject({ held: 1, asked: 1 });
  expect(keeper.status().heldBytes).toBeGreaterThan(0);
  ledger.approve('ap-1');
  expect(await asking).toMatchObject({ kind: 'approval', approval: { state: 'approved', by: 'ann' }, isNew: true });
  expect(keeper.status()).toMatchObject({ held: 0, heldBytes: 0, approved: 1 });
});

test('a call whose time is over is answered: its approval is still pending', async () => {
  const { clock, hold } = start();
  const asking = hold(askFor(), 5_000);
  await settled();
  clock.advance(5_000);
  expect(await asking).toMatchObject({ kind: 'approval', approval: { approvalId: 'ap-1', state: 'pending' } });
});

test('equal calls share one approval, and only the first of them has made it', async () => {
  const { ledger, keeper, hold } = start();
  const asking = [hold(askFor()), hold(askFor())];
  await settled();
  expect(ledger.rows).toHaveLength(1);
  expect(keeper.status().asked).toBe(1);
  ledger.deny('ap-1', 'not today');
  const answers = await Promise.all(asking);
  expect(answers.map((answer) => answer.kind === 'approval' && [answer.isNew, answer.approval.state, answer.approval.note])).toEqual([
    [true, 'denied', 'not today'],
    [false, 'denied', 'not today'],
  ]);
});

test('without a control plane a call is answered after two seconds', async () => {
  const { clock, keeper, hold } = start(() => () => unreachable);
  const asking = hold(askFor());
  clock.advance(1_999);
  await settled();
  expect(keeper.status().unavailable).toBe(0);
  clock.advance(1);
  expect(await asking).toEqual({ kind: 'unavailable' });
  expect(await Promise.all([claimAfter(), readAfter()])).toEqual([null, 'unavailable']);

  function claimAfter() {
    const claiming = keeper.claim('ap-1', 'r1', askFor().call);
    clock.advance(2_000);
    return claiming;
  }
  function readAfter() {
    const reading = keeper.read('ap-1', 'k1');
    clock.advance(2_000);
    return reading;
  }
});

test('an answer that was lost with its link is asked for again, and makes no second approval', async () => {
  const net = cuttable();
  const { clock, ledger, hold } = start(net.around);
  net.state.isSilent = true;
  const asking = hold(askFor());
  await settled();
  expect(ledger.rows).toHaveLength(1);
  net.state.isSilent = false;
  net.connections[0]?.cut();
  clock.advance(100);
  await settled();
  expect(net.connections[1]?.sent).toEqual(['ask', 'watch ap-1']);
  ledger.approve('ap-1');
  expect(await asking).toMatchObject({ approval: { approvalId: 'ap-1', state: 'approved' } });
  expect(ledger.rows).toHaveLength(1);
});

test('an approval that is answered while the link is lost is heard of after the reconnect', async () => {
  const net = cuttable();
  const { clock, ledger, hold } = start(net.around);
  const asking = hold(askFor());
  await settled();
  net.connections[0]?.cut();
  ledger.approve('ap-1');
  clock.advance(100);
  expect(await asking).toMatchObject({ approval: { state: 'approved' } });
});

test('a claim that is not answered may be granted, and its return is sent again after a reconnect', async () => {
  const net = cuttable();
  const { clock, ledger, keeper, hold } = start(net.around);
  const { call } = askFor();
  void hold(askFor(), 0);
  await settled();
  ledger.approve('ap-1');
  net.state.isSilent = true;
  const claiming = keeper.claim('ap-1', 'r1', call);
  await settled();
  clock.advance(2_000);
  expect(await claiming).toBe(null);
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(1);
  keeper.returnUse('ap-1', 'r1');
  net.state.isSilent = false;
  clock.advance(100);
  await settled();
  expect(net.connections.at(-1)?.sent).toContain('return ap-1 r1');
  expect(ledger.usesOf(ledger.rows[0] ?? expect.fail())).toBe(0);
  // The link may lose the return.
  net.connections.at(-1)?.cut();
  keeper.retryNow();
  await settled();
  expect(net.connections.at(-1)?.sent).toEqual(['return ap-1 r1']);
});

test('at most 20 calls of a key are held; further ones are answered at once', async () => {
  const { keeper, hold } = start();
  const held = Array.from({ length: 20 }, (_, amount) => hold(askFor({ amount })));
  await settled();
  expect(await hold(askFor({ amount: 20 }))).toMatchObject({ kind: 'approval', approval: { state: 'pending' } });
  expect(keeper.status().held).toBe(20);
  void hold(askFor({}, { keyId: 'k2' }));
  await settled();
  expect(keeper.status().held).toBe(21);
  void held;
});

test('at most 16 MiB are held', async () => {
  const { keeper, hold } = start();
  const text = 'a'.repeat(1_048_576);
  for (let key = 0; key < 20; key++) {
    void hold(askFor({ text }, { keyId: `k${key}` }));
    await settled();
  }
  expect(keeper.status().held).toBe(7);
  expect(keeper.status().heldBytes).toBeLessThanOrEqual(16 * 1_048_576);
});

test('ten thousand calls of one key at once hold at most 20, and each gets an answer', async () => {
  const { clock, keeper, hold } = start();
  const asking = Array.from({ length: 10_000 }, (_, amount) => hold(askFor({ amount })));
  await settled();
  expect(keeper.status().held).toBe(20);
  clock.advance(60_000);
  const answers = await Promise.all(asking);
  expect(answers.filter(({ kind }) => kind === 'crowded')).toHaveLength(9_900);
  expect(keeper.status()).toMatchObject({ held: 0, heldBytes: 0 });
});

test('a process that ends answers the calls that it holds, and holds no more', async () => {
  const { keeper, hold } = start();
  const asking = hold(askFor());
  await settled();
  keeper.drain();
  expect(await asking).toMatchObject({ approval: { state: 'pending' } });
  expect(await hold(askFor({ amount: 2 }))).toMatchObject({ approval: { state: 'pending' } });
});

test('a caller that has gone is no longer held', async () => {
  const { clock, keeper } = start();
  const caller = new AbortController();
  const asking = keeper.ask(askFor(), { until: clock.now() + 60_000, answeredBy: forever, gone: caller.signal });
  await settled();
  caller.abort();
  expect(await asking).toMatchObject({ approval: { state: 'pending' } });
  expect(keeper.status().held).toBe(0);
});

test('only the key that asked for an approval can read it', async () => {
  const { keeper, hold } = start();
  await hold(askFor(), 0);
  expect(await keeper.read('ap-1', 'k1')).toMatchObject({ approvalId: 'ap-1', state: 'pending' });
  expect(await keeper.read('ap-1', 'k2')).toBe(null);
});

test('a key that reads very often gets 20 reads at once, and the link stays for the questions of others', async () => {
  const net = cuttable();
  const { keeper, ledger, hold } = start(net.around);
  await hold(askFor(), 0);
  net.state.isSilent = true;
  const reads = Array.from({ length: 1_000 }, () => keeper.read('ap-1', 'k1'));
  await settled();
  expect(net.connections[0]?.sent.filter((message) => message === 'read')).toHaveLength(20);
  expect(new Set(await Promise.all(reads.slice(20)))).toEqual(new Set(['unavailable']));
  net.state.isSilent = false;
  expect(await keeper.read('ap-1', 'k2')).toBe(null);
  const asking = hold(askFor({ amount: 2 }, { keyId: 'k2' }));
  await settled();
  ledger.approve('ap-2');
  expect(await asking).toMatchObject({ approval: { state: 'approved' } });
});

test('a call that is held long watches its approval again each minute, and no longer than it is held', async () => {
  const net = cuttable();
  const { clock, ledger, hold } = start(net.around);
  const asking = hold(askFor(), 3_600_000);
  await settled();
  clock.advance(120_000);
  expect(net.connections[0]?.sent.filter((message) => message === 'watch ap-1')).toHaveLength(3);
  ledger.approve('ap-1');
  await asking;
  clock.advance(120_000);
  expect(net.connections[0]?.sent.filter((message) => message === 'watch ap-1')).toHaveLength(3);
});
