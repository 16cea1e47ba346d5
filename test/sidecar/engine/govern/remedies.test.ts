// What a denial tells the program that made the call: which calls would be allowed instead.
import { expect, test } from 'vitest';
import { denialAnswer, denialKey, denialMeta } from '../../../../sidecar/doors/denial-body.ts';
import { verdictBody } from '../../../../sidecar/doors/hooks/hook-answer.ts';
import { startRun } from '../../../../sidecar/doors/library/library.ts';
import { compileDocument } from '../../../../sidecar/engine/compile/compile.ts';
import type { PolicyDocument } from '../../../../sidecar/engine/compile/policy-document.ts';
import { type Denial, denialText, type Verdict } from '../../../../sidecar/engine/govern/verdict.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { agent } from '../../../support/snapshots.ts';

type RuleDocument = NonNullable<NonNullable<PolicyDocument['defaults']>['api']>;

const tool = 'mail.send';
const place = `tools["${tool}"].api`;

async function deciding(rule: RuleDocument, key = tool) {
  const documents = [compileDocument({ layer: 'workspace' }, { tools: { [key]: { api: rule } } })];
  const sidecar = await createTestSidecar({ world: { documents, agents: [agent({ enabledTools: ['mail.send', 't.*'] })] } });
  const run = startRun(sidecar, { agent: 'bot', tier: 'api', client: { name: 'tests' } });
  const decide = async (input: unknown, named = tool): Promise<Verdict> => run.decide({ tool: named, input });
  return { sidecar, decide };
}

const outside: RuleDocument = {
  permission: 'allow',
  cases: [
    { name: 'outside', when: '!args.to.endsWith("@acme.test")', permission: 'deny', reason: 'only inside' },
    { name: 'few', when: 'args.to == "all@acme.test"', rateLimit: 1 },
  ],
};

const denied = (verdict: Verdict): Denial => {
  if (verdict.allowed) throw new Error('the call was allowed');
  return verdict;
};

test('a denial by a case says which other calls would be allowed, at every door', async () => {
  const { decide } = await deciding(outside);
  const denial = denied(await decide({ to: 'bob@else.test' }));
  const remedies = [
    { kind: 'no_case', layer: 'workspace', path: place },
    { kind: 'case', layer: 'workspace', path: `${place}.cases["few"]`, rateLimit: 1 },
  ];
  expect(denial).toMatchObject({
    reason: `policy_denied: the workspace denies api calls of "${tool}" (${place}.cases["outside"]): only inside`,
    remedies,
  });
  expect(verdictBody(denial)).toMatchObject({ decision: 'deny', remedies });
  expect(denialAnswer(denial).body.decision).toMatchObject({ remedies });
  expect(denialMeta(denial)).toMatchObject({ [denialKey]: { code: 'policy_denied', remedies } });
  expect(denialText(denial)).toMatch(
    `The same call will not be allowed. A call of no case of ${place} would be allowed. A call of ${place}.cases["few"] would be allowed. Otherwise`,
  );
});

test('an undecided case is named with why, and without what the condition compares with', async () => {
  const { decide, sidecar } = await deciding({
    permission: 'allow',
    cases: [{ name: 'boss', when: 'args.to == "boss@acme.test"', permission: 'deny' }],
  });
  const denial = denied(await decide({ to: 7 }));
  expect(denial.remedies[0]).toEqual({ kind: 'input', layer: 'workspace', path: `${place}.cases["boss"]`, reason: 'type', at: 'args.to' });
  expect(JSON.stringify(denial.remedies) + denialText(denial)).not.toContain('boss@');
  expect((await sidecar.entries())[0]?.undecided).toEqual([
    { document: 'workspace', path: `${place}.cases["boss"]`, reason: 'type', at: 'args.to == "boss@acme.test"' },
  ]);
});

test('a case whose limit is used up names the calls that do not count in it', async () => {
  const { decide } = await deciding(outside);
  expect((await decide({ to: 'all@acme.test' })).allowed).toBe(true);
  const denial = denied(await decide({ to: 'all@acme.test' }));
  expect(denial).toMatchObject({ code: 'rate_limited', kind: 'retry', remedies: [{ kind: 'no_case', path: place }] });
  expect(denialText(denial)).toMatch(/It may be allowed again in \d+ s\. A call of no case of /);
});

test('a denial without cases has none, and its answers have no such field', async () => {
  const { decide } = await deciding({ permission: 'deny' });
  const denial = denied(await decide({}));
  expect(denial.remedies).toEqual([]);
  expect(verdictBody(denial)).not.toHaveProperty('remedies');
  expect(denialAnswer(denial).body.decision).not.toHaveProperty('remedies');
  expect(denialText(denial)).toMatch(/Trying again will not help; continue without it or tell the user\.$/);
});

test('there are at most 5, and at most 1 kB of them', async () => {
  const cases = Array.from({ length: 20 }, (_, at) => ({
    name: `case ${at}`.padEnd(60, 'n'),
    when: `args.n == ${at}`,
    permission: 'allow' as const,
  }));
  const many = await deciding({ permission: 'deny', cases });
  const short = denied(await many.decide({ n: -1 })).remedies;
  expect(short.length).toBe(5);
  const key = `t.${'t'.repeat(190)}.*`;
  const long = denied(await (await deciding({ permission: 'deny', cases }, key)).decide({ n: -1 }, `t.${'t'.repeat(190)}.send`)).remedies;
  expect(long.length).toBeGreaterThan(0);
  expect(Buffer.byteLength(JSON.stringify(long))).toBeLessThanOrEqual(1_024);
});

test('remedies of the same denial are found once', async () => {
  const { decide } = await deciding(outside);
  const first = denied(await decide({ to: 'bob@else.test' }));
  const second = denied(await decide({ to: 'eve@else.test' }));
  expect(second.remedies).toBe(first.remedies);
});

test('why a case is undecided is that of this call', async () => {
  const { decide } = await deciding({ permission: 'allow', cases: [{ name: 'big', when: 'args.n > 5', permission: 'deny' }] });
  expect(denied(await decide({ n: 'x' })).remedies[0]).toMatchObject({ kind: 'input', reason: 'type' });
  expect(denied(await decide({})).remedies[0]).toMatchObject({ kind: 'input', reason: 'absent' });
});

test('a case that allows no call is not named, and neither is one that counts in the limit that is used up', async () => {
  const cases: RuleDocument['cases'] = [
    { name: 'out', when: 'args.n == 1', permission: 'deny' },
    { name: 'closed', when: 'args.n == 2', rateLimit: 0 },
  ];
  const open = await deciding({ permission: 'allow', cases });
  expect(denied(await open.decide({ n: 1 })).remedies).toEqual([{ kind: 'no_case', layer: 'workspace', path: place }]);
  const limited = await deciding({ permission: 'allow', rateLimit: 1, cases: [{ name: 'seen', when: 'args.n == 1', transform: 'log' }] });
  expect((await limited.decide({ n: 1 })).allowed).toBe(true);
  expect(denied(await limited.decide({ n: 1 }))).toMatchObject({ code: 'rate_limited', remedies: [] });
});

test('calls of which the same is undecided share a decision, and those of which something else is do not', async () => {
  const { decide, sidecar } = await deciding({ permission: 'deny', cases: [{ name: 'big', when: 'args.n > 5', transform: 'redact' }] });
  const [first, second, other, again] = [await decide({}), await decide({}), await decide({ n: 'x' }), await decide({})];
  expect(second.decision).toBe(first.decision);
  expect(other.decision).not.toBe(first.decision);
  expect(again.decision).toEqual(first.decision);
  expect((await sidecar.entries()).map(({ undecided }) => undecided?.map(({ reason }) => reason))).toEqual([
    ['absent'],
    ['absent'],
    ['type'],
    ['absent'],
  ]);
});
