// Explaining calls of rules with cases: which cases hold, what would have to change, and which calls would be allowed
// instead.
import type { DocumentId } from '@tollgate/proto/contract';
import { type Explanation, explainCall, type PolicyDocument, type PolicySource } from '@tollgate/sidecar/engine/compile';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { agent as profile } from '../../../support/snapshots.ts';

const defaults = { defaultPermission: 'allow', windowSeconds: 60 } as const;
const noon = Date.UTC(2026, 5, 25, 12);
const tool = 'payments.transfer';
const agentType = 'tests::api::clerk';
const workspace: DocumentId = { layer: 'workspace' };
const role: DocumentId = { layer: 'role', role: 'member' };
const ofType: DocumentId = { layer: 'agent-type', agentType };
const ofUser: DocumentId = { layer: 'user', uid: 'ann', part: 'organisation' };

type Stored = readonly (readonly [DocumentId, PolicyDocument])[];

const stateOf = (documents: Stored, fields: Partial<PolicySource> = {}): PolicySource => ({
  workspace: 'acme',
  workspaceId: '0'.repeat(32),
  epoch: 'e',
  revision: 1,
  frozen: false,
  documents: documents.map(([id, document]) => ({ id, document })),
  agents: [],
  members: [{ uid: 'ann', email: 'ann@acme.test', role: 'member' }],
  keys: [],
  servers: [],
  ...fields,
});

interface Asked {
  readonly input?: unknown;
  readonly wallTime?: number;
  readonly fields?: Partial<PolicySource>;
  readonly defaultPermission?: 'allow' | 'deny';
  readonly tool?: string;
}

function explain(
  documents: Stored,
  { input, wallTime = noon, fields = {}, defaultPermission = 'allow', tool: named = tool }: Asked = {},
): Explanation {
  const call = input === undefined ? {} : { call: { input, wallTime } };
  const question = { sub: 'ann', agentType, tier: 'api', tool: named, ...call } as const;
  const explanation = explainCall(stateOf(documents, fields), { ...defaults, defaultPermission }, question);
  if (explanation === null) throw new Error('the subject does not exist');
  return explanation;
}

const large = { name: 'large', when: 'args.amount > 1000', permission: 'deny', reason: "over 1000: use the bank's own form" } as const;
const noted = { name: 'noted', when: 'args.amount > 100', permission: 'allow', transform: 'redact', rateLimit: 5 } as const;
const payments: PolicyDocument = { tools: { [tool]: { api: { permission: 'allow', cases: [large, noted] } } } };
const place = `tools["${tool}"].api`;
const casesOf = ({ layers }: Explanation) =>
  layers.flatMap(({ document, cases = [] }) =>
    cases.map(({ path, result, reason, at }) => [document, path, result, ...(reason === undefined ? [] : [reason, at])]),
  );

describe('with an input', () => {
  test('each case is shown with its condition, with what it sets, and whether it holds, also after the first that holds', () => {
    const denied = explain([[workspace, payments]], { input: { amount: 5_000 } });
    expect(denied).toMatchObject({
      decision: 'deny',
      reason: `policy_denied: the workspace denies api calls of "${tool}" (${place}.cases["large"]): over 1000: use the bank's own form`,
    });
    expect(denied.layers[0]).toMatchObject({ path: `${place}.cases["large"]`, rule: { permission: 'deny' } });
    expect(denied.layers[0]?.cases).toEqual([
      {
        path: `${place}.cases["large"]`,
        result: 'holds',
        sets: { permission: 'deny', reason: "over 1000: use the bank's own form" },
        when: 'args.amount > 1000',
      },
      {
        path: `${place}.cases["noted"]`,
        result: 'holds',
        sets: { permission: 'allow', transform: 'redact', rateLimit: 5 },
        when: 'args.amount > 100',
      },
    ]);
    expect(denied.remedies).toEqual([
      { kind: 'no_case', layer: 'workspace', path: place },
      { kind: 'case', layer: 'workspace', path: `${place}.cases["noted"]`, rateLimit: 5 },
    ]);
    expect(denied.wouldAllow[0]).toEqual([
      { layer: 'workspace', document: 'workspace', path: `${place}.cases["large"]`, change: 'set permission "allow"' },
    ]);
  });

  test('a case that holds decides what the call is', () => {
    const allowed = explain([[workspace, payments]], { input: { amount: 500 } });
    expect(allowed).toMatchObject({
      decision: 'allow',
      enforced: { rateLimit: 5, transform: 'redact', attributedTo: { path: `${place}.cases["noted"]` } },
      remedies: [],
      wouldAllow: [],
    });
    expect(casesOf(allowed)).toEqual([
      ['workspace', `${place}.cases["large"]`, 'does not hold'],
      ['workspace', `${place}.cases["noted"]`, 'holds'],
    ]);
    expect(explain([[workspace, payments]], { input: { amount: 50 } })).toMatchObject({ decision: 'allow', enforced: { rateLimit: null } });
  });

  test.each([
    ['a key that is absent', {}, 'absent', 'args.amount'],
    ['no input at all', null, 'absent', 'args.amount'],
    ['another type', { amount: '5000' }, 'type', 'args.amount > 1000'],
    ['an integer that no double holds', JSON.parse('{"amount": 9007199254740993}'), 'rounded', 'args.amount'],
  ])('%s leaves the case undecided: the strictest acts, and the value is not shown', (_, input, reason, at) => {
    const undecided = explain([[workspace, payments]], { input });
    expect(undecided.decision).toBe('deny');
    expect(casesOf(undecided)[0]).toEqual(['workspace', `${place}.cases["large"]`, 'undecided', reason, at]);
    expect(undecided.remedies[0]).toEqual({
      kind: 'input',
      layer: 'workspace',
      path: `${place}.cases["large"]`,
      reason,
      at: 'args.amount',
    });
    expect(JSON.stringify(undecided)).not.toContain('5000');
    expect(JSON.stringify(undecided)).not.toContain('900719925474099');
  });

  test('conditions read the agent, its scopes, the user and the time of the question', () => {
    const when = '"finance" in agent.scopes && agent.name == "clerk" && user.uid == "ann" && now.getHours("UTC") == 12';
    const document: PolicyDocument = {
      tools: { [tool]: { api: { permission: 'deny', cases: [{ name: 'finance', when, permission: 'allow' }] } } },
    };
    const asked = (scopes: readonly string[], wallTime = noon) =>
      explain([[workspace, document]], {
        input: {},
        wallTime,
        fields: { agents: [profile({ name: 'clerk', enabledTools: ['payments.*'], scopes: [...scopes] })] },
      });
    expect(asked(['finance']).decision).toBe('allow');
    expect(casesOf(asked([]))).toEqual([['workspace', `${place}.cases["finance"]`, 'does not hold']]);
    expect(asked(['finance'], noon + 3_600_000).decision).toBe('deny');
  });

  test('a layer in audit mode shows its cases, and decides only the shadow', () => {
    const audited = explain([[role, { ...payments, mode: 'audit' }]], { input: { amount: 5_000 } });
    expect(audited).toMatchObject({ decision: 'allow', enforced: { permission: 'allow' }, shadow: { permission: 'deny' } });
    expect(audited.layers[1]).toMatchObject({ mode: 'audit', cases: [{ result: 'holds' }, { result: 'holds' }] });
  });

  test('an override of a more specific layer stands, whatever the cases of a broader one say', () => {
    const exception: PolicyDocument = { tools: { [tool]: { api: { permission: 'allow', override: true } } } };
    const excepted = explain(
      [
        [workspace, payments],
        [ofType, exception],
      ],
      { input: { amount: 5_000 } },
    );
    expect(excepted).toMatchObject({ decision: 'allow', enforced: { attributedTo: { layer: 'agent-type', override: true } } });
    expect(casesOf(excepted)[0]).toEqual(['workspace', `${place}.cases["large"]`, 'holds']);
  });

  test('if an override depends on an undecided case, the denials that it replaces are named too', () => {
    const maybe: PolicyDocument = {
      tools: { [tool]: { api: { override: true, cases: [{ name: 'known', when: 'args.known == true', permission: 'allow' }] } } },
    };
    const { decision, wouldAllow } = explain(
      [
        [workspace, { defaults: { api: { permission: 'deny' } } }],
        [role, maybe],
      ],
      { input: {} },
    );
    expect(decision).toBe('deny');
    expect(wouldAllow[0]).toEqual([{ layer: 'workspace', document: 'workspace', path: 'defaults.api', change: 'set permission "allow"' }]);
  });

  test('two undecided denials of one rule are both named', () => {
    const twice: PolicyDocument = {
      tools: {
        [tool]: {
          api: {
            permission: 'allow',
            cases: [
              { name: 'one', when: 'args.one == 1', permission: 'deny' },
              { name: 'two', when: 'args.two == 1', permission: 'deny' },
            ],
          },
        },
      },
    };
    const { wouldAllow } = explain([[workspace, twice]], { input: {} });
    expect(wouldAllow[0]?.map(({ path }) => path)).toEqual([`${place}.cases["one"]`, `${place}.cases["two"]`]);
  });

  test('at most 200 conditions are evaluated', () => {
    const cases = Array.from({ length: 50 }, (_, at) => ({ name: `c${at}`, when: `args.n == ${at}`, transform: 'log' as const }));
    const keys = ['a.b.c.d', 'a.b.c.*', 'a.b.*', 'a.*'];
    const tools = Object.fromEntries(keys.map((key) => [key, { api: { cases } }]));
    const document = { tools, defaults: { api: { cases } } };
    const results = casesOf(explain([[workspace, document]], { input: { n: 7 }, tool: 'a.b.c.d' }));
    expect(results.filter(([, , result]) => result === 'undecided').map(([, , , reason]) => reason)).toEqual(Array(50).fill('budget'));
    expect(results.filter(([, , result]) => result === 'holds')).toHaveLength(4);
  });

  test('at most 500 characters of a condition are shown', () => {
    const when = `args.text == "${'x'.repeat(3_000)}"`;
    const document: PolicyDocument = {
      tools: { [tool]: { api: { permission: 'allow', cases: [{ name: 'long', when, permission: 'deny' }] } } },
    };
    const shown = explain([[workspace, document]], { input: { text: '' } }).layers[0]?.cases?.[0]?.when;
    expect(shown).toBe(`${when.slice(0, 500)}…`);
  });
});

describe('without an input', () => {
  test('the answer depends where cases decide, and says which calls would be allowed', () => {
    const depends = explain([[workspace, payments]]);
    expect(depends).toMatchObject({
      decision: 'depends',
      reason: `depends on the input, which these cases read: workspace ${place}.cases["large"], workspace ${place}.cases["noted"]`,
    });
    expect(casesOf(depends).map(([, , result]) => result)).toEqual(['depends', 'depends']);
    expect(depends.remedies.map(({ kind, path }) => [kind, path])).toEqual([
      ['no_case', place],
      ['case', `${place}.cases["noted"]`],
    ]);
  });

  test('a limit of 0 in a case makes it depend, and a limit of 0 of the rule itself denies', () => {
    const closed = { name: 'closed', when: 'args.n > 1', rateLimit: 0 };
    const rule = (fields: object) => ({ tools: { [tool]: { api: { ...fields, cases: [closed] } } } });
    expect(explain([[workspace, rule({ permission: 'allow' })]]).decision).toBe('depends');
    expect(explain([[workspace, rule({ rateLimit: 0 })]]).decision).toBe('deny');
    // The place of the limit is compared with its document.
    expect(
      explain([
        [workspace, rule({})],
        [role, { tools: { [tool]: { api: { rateLimit: 0 } } } }],
      ]).decision,
    ).toBe('deny');
  });

  test('a call that is denied with every input is denied', () => {
    const denying: PolicyDocument = {
      tools: { [tool]: { api: { permission: 'deny', cases: [{ name: 'a', when: 'args.n > 1', transform: 'redact' }] } } },
    };
    expect(explain([[workspace, denying]])).toMatchObject({ decision: 'deny', remedies: [] });
  });
});

test('if one rule is never enough, all rules are named whose cases the call must avoid', () => {
  const over = (amount: number): PolicyDocument => ({
    tools: { [tool]: { api: { permission: 'allow', cases: [{ name: 'large', when: `args.amount > ${amount}`, permission: 'deny' }] } } },
  });
  expect(
    explain(
      [
        [workspace, over(1_000)],
        [role, over(100)],
      ],
      { input: { amount: 5_000 } },
    ).remedies,
  ).toEqual([{ kind: 'no_case', layer: 'workspace', path: place, and: [{ layer: 'role', path: place }] }]);
});

// Generated policies: each case has a variable of its own, so that every answer of the cases can be reached by an input.

const spots: readonly (readonly [DocumentId, 'defaults' | 'tools' | 'agentTypes', string])[] = [
  [workspace, 'defaults', ''],
  [workspace, 'tools', 'payments.*'],
  [workspace, 'tools', tool],
  [role, 'defaults', ''],
  [role, 'tools', tool],
  [ofType, 'tools', 'payments.*'],
  [ofUser, 'tools', tool],
  [ofUser, 'agentTypes', agentType],
];
const casesMax = 3;
const optional = <T>(of: fc.Arbitrary<T>, freq = 1) => fc.option(of, { nil: undefined, freq });
const fields = {
  permission: optional(fc.constantFrom('allow' as const, 'deny' as const), 2),
  rateLimit: optional(fc.constantFrom(0, 7)),
  transform: optional(fc.constantFrom('log' as const, 'redact' as const)),
};
const ruleOf = fc.record({
  ...fields,
  override: optional(fc.constant(true as const)),
  cases: fc.array(fc.record(fields), { maxLength: casesMax }),
});
const scene = fc.record({
  rules: fc.array(fc.option(ruleOf, { nil: null, freq: 2 }), { minLength: spots.length, maxLength: spots.length }),
  modes: fc.array(fc.constantFrom('enforce' as const, 'enforce' as const, 'audit' as const), { minLength: 4, maxLength: 4 }),
  values: fc.array(fc.constantFrom(0, 0, 1, null), { minLength: spots.length * casesMax, maxLength: spots.length * casesMax }),
  defaultPermission: fc.constantFrom('allow' as const, 'deny' as const),
});
type Scene = typeof scene extends fc.Arbitrary<infer S> ? S : never;

const variable = (spot: number, at: number): string => `p${spot}c${at}`;
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
const without = <T extends { readonly cases?: unknown }>(rule: T): Omit<T, 'cases'> => {
  const { cases, ...others } = rule;
  return cases === undefined ? rule : others;
};

function documentsOf({ rules, modes }: Scene): Map<DocumentId, PolicyDocument> {
  const documents = new Map<DocumentId, PolicyDocument>();
  for (const [spot, [id, section, key]] of spots.entries()) {
    const rule = rules[spot];
    if (rule == null) continue;
    const cases = rule.cases.map((one, at) => ({ name: `c${at}`, when: `args.${variable(spot, at)} == 1`, ...one }));
    const written = plain({ ...rule, cases });
    const mode = modes[[workspace, role, ofType, ofUser].indexOf(id)] ?? 'enforce';
    const before = documents.get(id) ?? { mode };
    const placed = { api: cases.length === 0 ? without(written) : written };
    const sections = section === 'defaults' ? { defaults: placed } : { [section]: { ...before[section], [key]: placed } };
    documents.set(id, { ...before, ...sections } as PolicyDocument);
  }
  return documents;
}

const inputOf = (values: Scene['values']): Record<string, number> =>
  Object.fromEntries(values.flatMap((value, at) => (value === null ? [] : [[variable(Math.floor(at / casesMax), at % casesMax), value]])));

const keyOf = (id: DocumentId): string =>
  id.layer === 'workspace'
    ? 'workspace'
    : id.layer === 'role'
      ? 'role:member'
      : id.layer === 'user'
        ? 'user:ann:organisation'
        : `agent-type:${agentType}`;
const placeOf = (spot: number): string => {
  const [, section, key] = spots[spot] ?? [workspace, 'defaults', ''];
  return `${section}${key === '' ? '' : `["${key}"]`}.api`;
};

/** Changes a document as an explanation says. */
function changed(document: PolicyDocument, { path, change }: { readonly path: string; readonly change: string }): PolicyDocument {
  if (path === 'mode') return { ...document, mode: 'enforce' };
  const [, section = '', key, name] = /^(defaults|tools|agentTypes)(?:\["([^"]*)"\])?\.api(?:\.cases\["(\w+)"\])?$/.exec(path) ?? [];
  const edit = change.includes('rateLimit')
    ? { rateLimit: 1_000 }
    : { permission: 'allow' as const, ...(change.includes('override') ? { override: true as const } : {}) };
  const ofSection = section === 'defaults' ? { '': document.defaults ?? {} } : section === 'tools' ? document.tools : document.agentTypes;
  const places: Readonly<Record<string, NonNullable<PolicyDocument['defaults']>>> = ofSection ?? {};
  const rule = places[key ?? '']?.['api'] ?? {};
  const edited =
    name === undefined
      ? { ...rule, ...edit }
      : { ...rule, cases: (rule.cases ?? []).map((one) => (one.name === name ? { ...one, ...edit } : one)) };
  const tiers = { ...places[key ?? ''], api: edited };
  return section === 'defaults' ? { ...document, defaults: tiers } : { ...document, [section]: { ...places, [key ?? '']: tiers } };
}

test('the changes that an explanation names lead to an allow, and so do the calls that it names', () => {
  const seen = new Map<string, number>();
  const note = (what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
  fc.assert(
    fc.property(scene, (made) => {
      const documents = documentsOf(made);
      const { defaultPermission } = made;
      const ask = (of: ReadonlyMap<DocumentId, PolicyDocument>, input?: unknown): Explanation =>
        explain([...of], { defaultPermission, ...(input === undefined ? {} : { input }) });
      const input = inputOf(made.values);
      const explanation = ask(documents, input);
      note(explanation.decision);
      const any = ask(documents);
      note(`any: ${any.decision}`);
      if (any.decision !== 'depends') expect(explanation.decision).toBe(any.decision);
      expect(explanation.wouldAllow.length > 0).toBe(explanation.decision === 'deny');
      for (const way of explanation.wouldAllow) {
        const after = new Map(documents);
        for (const change of way) {
          const id = spots.map(([one]) => one).find((one) => keyOf(one) === change.document);
          if (id === undefined) throw new Error(`no document ${change.document}`);
          after.set(id, changed(after.get(id) ?? {}, change));
        }
        const again = ask(after, input);
        if (again.decision !== 'allow') throw new Error(`${JSON.stringify(way)} leads to ${again.reason}`);
      }
      for (const remedy of explanation.remedies) {
        note(remedy.kind === 'no_case' && remedy.and !== undefined ? 'and' : remedy.kind);
        const other: Record<string, number> = { ...input };
        const answer = (document: { readonly layer: string; readonly path: string }, held: number): void => {
          const spot = spots.findIndex(
            ([id], at) => id.layer === document.layer && placeOf(at) === document.path.replace(/\.cases\["\w+"\]$/, ''),
          );
          for (let at = 0; at < casesMax; at += 1) other[variable(spot, at)] = at === held ? 1 : 0;
        };
        if (remedy.kind === 'input')
          for (const [at, value] of made.values.entries())
            if (value === null) other[variable(Math.floor(at / casesMax), at % casesMax)] = 0;
        if (remedy.kind === 'case') answer(remedy, Number(/c(\d)"\]$/.exec(remedy.path)?.[1]));
        if (remedy.kind === 'no_case') for (const one of [remedy, ...(remedy.and ?? [])]) answer(one, -1);
        const again = ask(documents, other);
        if (again.decision !== 'allow') throw new Error(`${JSON.stringify(remedy)} leads to ${again.reason}`);
        expect(again.enforced.rateLimit).toBe(remedy.rateLimit ?? null);
      }
    }),
    { numRuns: 500 },
  );
  for (const what of ['allow', 'deny', 'any: allow', 'any: deny', 'any: depends', 'case', 'no_case', 'input'])
    expect([what, (seen.get(what) ?? 0) > 3]).toEqual([what, true]);
});
