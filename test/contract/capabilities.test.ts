// What a version that lacks a capability is sent instead: never anything looser.
import {
  capabilities,
  capabilitiesProblem,
  type CompiledDocument,
  type Expression,
  isEntryKnown,
  loweredDocument,
  loweredRule,
  needable,
  type Needs,
  needsOfRule,
  policyNeeds,
  type Rule,
} from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';

/** A table in which limits and exceptions were added later. */
const later: Needs = { ...policyNeeds, rule: { ...policyNeeds.rule, rateLimit: 'limits', override: 'exceptions' } };
const lacks =
  (...names: readonly string[]) =>
  (need: string) =>
    names.includes(need);

test('this version has all capabilities that its policy may need, and names them in a form that a hello can hold', () => {
  expect(needable(policyNeeds).filter((need) => !capabilities.includes(need))).toEqual([]);
  expect(capabilitiesProblem(capabilities)).toBeNull();
});

test.each<readonly [string, Rule, readonly string[], Rule]>([
  ['nothing of it is lacking', { permission: 'allow', transform: 'log' }, ['limits'], { permission: 'allow', transform: 'log' }],
  ['a field is', { permission: 'allow', rateLimit: 5 }, ['limits'], { permission: 'deny' }],
  [
    'parts that are understood stay next to the denial',
    { rateLimit: 5, transform: 'redact' },
    ['limits'],
    { permission: 'deny', transform: 'redact' },
  ],
  ['no exception is left', { permission: 'allow', rateLimit: 5, override: true }, ['limits'], { permission: 'deny' }],
  ['the exception is what is lacking', { permission: 'allow', override: true }, ['exceptions'], { permission: 'deny' }],
])('a rule of which %s', (_, rule, lacking, sent) => {
  expect(loweredRule(rule, lacks(...lacking), later)).toEqual(sent);
});

const condition: Expression = ['bool', true];

test.each<readonly [string, Rule, Rule]>([
  [
    'the denial stays where nothing else is known',
    { permission: 'allow', override: true, cases: [{ name: 'a', when: condition, permission: 'allow' }] },
    { permission: 'deny' },
  ],
  [
    'a case that redacts redacts all, since an exception elsewhere may remove the denial',
    { transform: 'log', cases: [{ name: 'a', when: condition, transform: 'redact' }] },
    { permission: 'deny', transform: 'redact' },
  ],
  [
    'a case that redacts nothing takes no redaction away',
    { transform: 'redact', cases: [{ name: 'a', when: condition, transform: 'log' }] },
    { permission: 'deny', transform: 'redact' },
  ],
  [
    'a limit that counts some calls allows none',
    { rateLimit: 9, cases: [{ name: 'a', when: condition, rateLimit: 5 }] },
    { permission: 'deny', rateLimit: 0 },
  ],
])('of a rule with cases %s', (_, rule, sent) => {
  expect(loweredRule(rule, lacks('conditions'), policyNeeds)).toEqual(sent);
  expect(loweredRule(rule, lacks('limits'), policyNeeds)).toBe(rule);
});

test('a rule that is lowered for another reason keeps no case that could allow', () => {
  const rule = { permission: 'allow', marks: ['private'], cases: [{ name: 'a', when: condition, permission: 'allow' }] } as const;
  expect(needsOfRule(rule, policyNeeds)).toEqual(['marks', 'conditions']);
  expect(loweredRule(rule, lacks('marks'), policyNeeds)).toEqual({ permission: 'deny' });
});

test('a field of a case that is in no table needs a capability that no version has', () => {
  const rule = { permission: 'allow', cases: [{ name: 'a', when: condition, permission: 'allow', marks: {} }] } as const;
  expect(needsOfRule(rule, policyNeeds)).toEqual(['conditions', 'marks']);
  expect(loweredRule(rule, (need) => !capabilities.includes(need), policyNeeds)).toEqual({ permission: 'deny' });
});

test('a rule that asks needs approvals, also without terms; without them it is a denial that keeps its other fields', () => {
  const lowered = (rule: object): unknown => loweredRule(rule, lacks('approvals'), policyNeeds);
  const denied = { permission: 'deny', rateLimit: 3, transform: 'redact' };
  const asks = { permission: 'ask', rateLimit: 3, transform: 'redact', override: true } as const;
  expect(needsOfRule({ permission: 'ask' }, policyNeeds)).toEqual(['approvals']);
  expect(lowered(asks)).toEqual(denied);
  expect(lowered({ ...asks, ask: { approvers: ['role:admin'] } })).toEqual(denied);
  const ofCase = { permission: 'allow', cases: [{ name: 'a', when: condition, permission: 'ask', rateLimit: 5 }] } as const;
  expect(needsOfRule(ofCase, policyNeeds)).toEqual(['conditions', 'approvals']);
  expect(lowered(ofCase)).toEqual({ permission: 'deny', rateLimit: 0 });
  expect(loweredRule(asks, lacks('conditions'), policyNeeds)).toBe(asks);
});

test('a permission that is in no table needs a capability that no version has', () => {
  expect(needsOfRule({ permission: 'escalate' }, policyNeeds)).toEqual(['escalate']);
  expect(needsOfRule({ permission: '__proto__' }, policyNeeds)).toEqual(['__proto__']);
});

test('a field that is in no table needs a capability that no version has', () => {
  const rule: object = { permission: 'allow', when: 'amount < 5' };
  expect(needsOfRule(rule, policyNeeds)).toEqual(['when']);
  expect(loweredRule(rule, (need) => !capabilities.includes(need), policyNeeds)).toEqual({ permission: 'deny' });
  for (const name of ['toString', '__proto__', 'constructor']) expect(needsOfRule({ [name]: 1 }, policyNeeds)).toEqual([name]);
});

test('entries of an unknown kind are not sent', () => {
  const kinds: Needs = { ...policyNeeds, entry: { ...policyNeeds.entry, approval: 'approvals' } };
  const lacking = new Set(['approvals']);
  expect(isEntryKnown('settings', lacking, kinds)).toBe(true);
  expect(isEntryKnown('document/user:a/b:self', lacking, kinds)).toBe(true);
  expect(isEntryKnown('approval/1', lacking, kinds)).toBe(false);
  expect(isEntryKnown('approval/1', new Set(), kinds)).toBe(true);
});

const rule = fc.record(
  {
    permission: fc.constantFrom('allow', 'deny'),
    rateLimit: fc.nat({ max: 9 }),
    transform: fc.constantFrom('log', 'redact'),
    override: fc.constant(true),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Rule>;

test('a lowered document has the same places, each rule of them unchanged or a denial without an exception', () => {
  const rules = fc.array(fc.tuple(fc.constantFrom('interactive', 'api'), rule), { maxLength: 2 });
  const places = fc.array(fc.tuple(fc.string(), rules), { maxLength: 3 });
  const document = fc.record({ defaults: rules, tools: places, agentTypes: places }) as fc.Arbitrary<Omit<CompiledDocument, 'id' | 'mode'>>;
  const names = fc.subarray(['limits', 'exceptions']);
  fc.assert(
    fc.property(document, names, (drawn, lacking) => {
      const whole: CompiledDocument = { id: { layer: 'workspace' }, mode: 'enforce', ...drawn };
      const lowered = loweredDocument(whole, new Set(lacking), later);
      const rulesOf = ({ defaults, tools, agentTypes }: CompiledDocument) =>
        [['', defaults] as const, ...tools, ...agentTypes].flatMap(([name, of]) => of.map(([tier, one]) => ({ name, tier, one })));
      const [before, after] = [rulesOf(whole), rulesOf(lowered)];
      expect(after.map(({ name, tier }) => [name, tier])).toEqual(before.map(({ name, tier }) => [name, tier]));
      for (const [at, { one }] of after.entries()) {
        const was = before[at]?.one ?? {};
        if (!needsOfRule(was, later).some((need) => lacking.includes(need))) expect(one).toEqual(was);
        else {
          expect(one.permission).toBe('deny');
          expect(one.override).toBeUndefined();
          expect(needsOfRule(one, later).filter((need) => lacking.includes(need))).toEqual([]);
          expect(one.transform).toBe(was.transform);
        }
      }
    }),
  );
});

test.each([
  ['a name in upper case', ['Deltas']],
  ['a name without an end', ['d'.repeat(41)]],
  ['a blank', ['']],
  ['more names than there can be', Array.from({ length: 65 }, (_, at) => `c${at}`)],
])('a hello with %s is rejected with a message', (_, names) => {
  expect(capabilitiesProblem(names)).toMatch(/^hello\.capabilities must be /);
});
