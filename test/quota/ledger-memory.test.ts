// What the ledger stores while its database does not answer: messages within a memory budget in bytes. One key cannot
// use all of it.
import { type QuotaAsk, type QuotaCounter, type SettledGrant } from '@tollgate/proto/contract';
import { expect, test } from 'vitest';
import { asksProblem } from '../../control-plane/quota/rules/asks-form.ts';
import { createLedger } from '../../control-plane/quota/operations/ledger.ts';
import type { QuotaPolicy } from '../../control-plane/publish/quota-policy.ts';
import { holderOf, runOf } from '../support/lease-names.ts';

const revision = { epoch: 'e', number: 7 };
const policy: QuotaPolicy = {
  revision,
  windowSeconds: 60,
  limitMax: () => 60,
  capOf: () => 10,
  hasSubject: () => true,
  hasKey: () => true,
};

const ask = (counter: QuotaCounter, settled: readonly SettledGrant[] = []): QuotaAsk => ({
  counter,
  number: 1,
  waiting: 1,
  onlySettles: false,
  revision,
  max: null,
  made: null,
  settled,
});
const limit = (n: number): QuotaCounter => ({ kind: 'limit', originSub: `sub-${n}`, id: 'workspace defaults.api' });
const asks = (count: number): readonly QuotaAsk[] => Array.from({ length: count }, (_, n) => ask(limit(n)));
const used = (count: number) => Array.from({ length: count }, () => ({ ageMs: 0, count: 1 }));

/** A ledger whose database does not answer until it fails. */
function start(memoryBytes: number) {
  const waiting: ((reason: Error) => void)[] = [];
  const pool = { connect: () => new Promise((_, fail) => waiting.push(fail)) };
  const ledger = createLedger(
    {
      pool: pool as never,
      watchPolicy: () => ({ current: policy, first: Promise.resolve(policy), close: () => undefined }),
      recalls: { attach: () => () => undefined, send: () => undefined } as never,
      metrics: { answered: () => undefined, falseClaim: () => undefined, committed: () => undefined, demanded: () => undefined },
      crowded: { has: () => false },
      now: () => 0,
    },
    memoryBytes,
  );
  let links = 0;
  return {
    /** Sends an ask on a stream of its own. The result holds the reason of the refusal, once there is one. */
    ask: (keyId: string, of: readonly QuotaAsk[]) => {
      const link = ledger.open({ workspaceId: 1, keyId, onlySub: null, holder: holderOf(`holder-${(links += 1)}`) }, () => undefined);
      const asked = { refused: '' };
      link.ask(of).catch((error: Error) => {
        asked.refused = error.message;
      });
      return asked;
    },
    fail: () => {
      for (const fail of waiting.splice(0)) fail(new Error('the database is away'));
    },
  };
}

test('pending messages are bounded in bytes: messages of one key beyond the bound are rejected, and another key is still served', async () => {
  const { ask: send } = start(1_000_000);
  const flood = Array.from({ length: 100 }, () => send('flood', asks(100)));
  const refusals = () => flood.filter(({ refused }) => refused !== '');
  await expect.poll(() => refusals().length).toBeGreaterThan(50);
  expect(refusals().length).toBeLessThan(98);
  expect(new Set(refusals().map(({ refused }) => refused))).toEqual(
    new Set(['too many lease requests of this key are waiting; try again']),
  );
  const honest = send('honest', asks(100));
  const last = send('flood', asks(100));
  await expect.poll(() => last.refused).not.toBe('');
  expect(honest.refused).toBe('');
});

test('a message that was answered, or failed, releases its part of the memory budget', async () => {
  const { ask: send, fail } = start(1_000_000);
  for (let round = 0; round < 6; round += 1) {
    const some = Array.from({ length: 3 }, () => send('key', asks(100)));
    await expect
      .poll(() => {
        fail();
        return some.filter(({ refused }) => refused === 'the database is away').length;
      })
      .toBe(3);
  }
});

test('reported uses of grants, and long names, count towards the budget as well', async () => {
  const { ask: send } = start(1_000_000);
  const settled = Array.from({ length: 100 }, (_, at) => ({ grantId: at + 1, used: used(100) }));
  const long = runOf('agent', { agents: [...Array.from({ length: 63 }, (_, at) => `${at}`.padStart(200, '€')), 'agent'] });
  const refusedOf = async (of: readonly QuotaAsk[]): Promise<number> => {
    const all = Array.from({ length: 30 }, () => send('key', of));
    await Promise.all(Array.from({ length: 5 }));
    return all.filter(({ refused }) => refused !== '').length;
  };
  expect(await refusedOf([ask(limit(1), settled)])).toBeGreaterThan(25);
  expect(await refusedOf([ask(long)])).toBeGreaterThan(5);
});

test('a message settles at most 50,000 uses', () => {
  const settling = (messages: number, last: number): readonly QuotaAsk[] =>
    Array.from({ length: messages }, (_, n) => {
      const settled = Array.from({ length: 100 }, (_none, at) => ({
        grantId: at + 1,
        used: used(n === messages - 1 && at === 0 ? last : 100),
      }));
      return ask(limit(n), settled);
    });
  expect(asksProblem(settling(5, 100))).toBeNull();
  expect(asksProblem([...settling(5, 100), ask(limit(6), [{ grantId: 1, used: used(1) }])])).toBe(
    'a message settles at most 50000 uses, not 50001',
  );
});
