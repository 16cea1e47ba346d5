// Generates worlds and calls for the property tests. Names come from pools of at most five, so that rules and calls
// match often. The pools include wildcards, names of prototype properties, emoji and names of full length. Nothing here
// knows how a decision is made.
import fc from 'fast-check';
import {
  type Agent,
  type Call,
  type Case,
  type Document,
  type Hop,
  hidden,
  type Key,
  type Member,
  type Role,
  type Rule,
  type Server,
  type Tier,
  type TierRules,
  type UserDocument,
  type WorkspaceDocument,
  type World,
} from './world.ts';

export interface Scene {
  readonly world: World;
  readonly calls: readonly Call[];
}

const long = 'n'.repeat(200);

// === Pools

const tiers: readonly Tier[] = ['interactive', 'subagent', 'background', 'api'];
const tools: readonly string[] = ['git.push', 'git.push_force', '__proto__', 'constructor', '🔥/x'];
/** Keys in `tools`: names of called tools, wildcards over them, and names that look like wildcards but are not. */
const toolKeys: readonly string[] = [...tools, 'git.*', 'git.push_*', '__*', '🔥/*', '*', 'git*', long];
const uids: readonly string[] = ['ann', 'bob', '__proto__', 'constructor'];
const roles: readonly Role[] = ['owner', 'admin', 'member'];
const scopes: readonly string[] = ['repo', '__proto__'];

/** The callers. The last two agents belong to no profile. */
const hopKinds: readonly Hop[] = [
  { client: 'claude-code', tier: 'interactive', agent: 'agent-1' },
  { client: 'claude-code', tier: 'background', agent: 'constructor' },
  { client: '__proto__', tier: 'api', agent: 'agent-3' },
  { client: '🤖', tier: 'subagent', agent: '__proto__' },
  { client: 'claude-code', tier: 'interactive', agent: '' },
];
/** The agent types of `hopKinds`. */
const agentTypes: readonly string[] = [
  'claude-code::interactive::deployer',
  'claude-code::background::constructor',
  `__proto__::api::${long}`,
  '🤖::subagent::__proto__',
  'claude-code::interactive::',
];
const rareHops: readonly Hop[] = [
  { client: 'claude-code', tier: 'api', agent: 'twin' },
  { client: 'claude-code', tier: 'api', agent: 'agent-4' },
  { client: 'claude-code', tier: 'interactive', agent: 'deployer' },
  { client: 'claude-code', tier: 'interactive', agent: 'DEPLOYER' },
  { client: 'a::b', tier: 'interactive', agent: 'deployer' },
  { client: 'claude-code', tier: 'interactive', agent: ' deployer' },
];
const rareTools: readonly string[] = [
  'git.push_',
  'git.',
  'git',
  'Git.push',
  'git.push ',
  long,
  `${long}n`,
  'toString',
  'git.*',
  '*',
  'hasOwnProperty',
  '\ud83d',
];

// === Documents

const sometimes = <T>(weight: number, arb: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 100 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary: arb });

/** A record with own keys only, whatever the keys are. */
const recordOf = <T>(keys: readonly string[], value: fc.Arbitrary<T>, maxLength: number): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(fc.constantFrom(...keys), value), { minLength: 1, maxLength }).map((pairs) => Object.fromEntries(pairs));

function defined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  const left: Partial<T> = {};
  for (const field in fields) if (fields[field] !== undefined) left[field] = fields[field];
  // The remaining fields are those of T.
  return left as T;
}

/** Returns a function that makes one value for each key and keeps it: arbitraries have no state of their own. */
function kept<K, T>(make: (key: K) => T): (key: K) => T {
  const made = new Map<K, T>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const one = make(key);
    made.set(key, one);
    return one;
  };
}

/** Chances, in percent. */
export interface Weights {
  readonly deny: number;
  readonly limit: number;
  readonly override: number;
  readonly audit: number;
  /** That a rule has cases. */
  readonly cases: number;
  /** That a rule or case asks a person. */
  readonly ask: number;
}

const organisation: Weights = { deny: 27, limit: 30, override: 16, audit: 25, cases: 0, ask: 0 };
const own: Weights = { deny: 22, limit: 20, override: 0, audit: 20, cases: 0, ask: 0 };
const selfOf = kept((weights: Weights): Weights => ({ ...weights, ...own, ask: weights.ask }));

/** Fields of inputs. Conditions read them. */
const inputFields: readonly string[] = ['f0', 'f1', 'f2', 'constructor', '__proto__'];

const inputArb = fc
  .tuple(
    ...inputFields.map((field) =>
      fc
        .oneof(
          { weight: 20, arbitrary: fc.constant(undefined) },
          { weight: 50, arbitrary: fc.constantFrom(0, 1, 2) },
          { weight: 15, arbitrary: fc.constantFrom('x', null, [1]) },
          { weight: 15, arbitrary: fc.constant(hidden) },
        )
        .map((value) => [field, value] as const),
    ),
  )
  .map((pairs): NonNullable<Call['input']> => Object.fromEntries(pairs.filter(([, value]) => value !== undefined)));

const tests: readonly string[] = [
  'args.f0 == 1',
  'args.f0 > 0',
  'args.f1 != 2',
  'args.f1 < 1',
  'args.f1 == "x"',
  'args.f1 == null',
  'has(args.f2)',
  '!has(args.f0)',
  'args.constructor == 1',
  'args.__proto__ > 0',
  'args.missing == 1',
  'agent.tier == "subagent"',
  'user.role == "member"',
];

export const conditionArb: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...tests) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...tests), fc.constantFrom(...tests)).map((both) => both.join(' && ')) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...tests), fc.constantFrom(...tests)).map((either) => either.join(' || ')) },
);

/** `permission`, and sometimes the terms of one that asks. */
const permissionOf = ({ deny, ask }: Weights): fc.Arbitrary<Pick<Rule, 'permission' | 'ask'>> =>
  fc.oneof(
    { weight: 60 - deny, arbitrary: fc.constant({}) },
    { weight: 40, arbitrary: fc.constant({ permission: 'allow' as const }) },
    { weight: deny, arbitrary: fc.constant({ permission: 'deny' as const }) },
    ...(ask === 0
      ? []
      : [
          {
            weight: ask,
            arbitrary: fc
              .constantFrom<Rule['ask']>(undefined, 'confirm', {}, { need: 2 }, { need: 2, uses: 3 })
              .map((terms) => ({ permission: 'ask' as const, ...(terms !== undefined && { ask: terms }) })),
          },
        ]),
  );

const caseOf = (weights: Weights): fc.Arbitrary<Omit<Case, 'name'>> =>
  fc
    .record({
      when: conditionArb,
      permission: permissionOf(weights),
      rateLimit: sometimes(weights.limit, fc.integer({ min: 0, max: 3 })),
      transform: sometimes(25, fc.constantFrom('log' as const, 'redact' as const)),
    })
    .map(({ permission, ...fields }) => ({ ...defined<Omit<Case, 'name'>>(fields), ...permission }));

const caseNames: readonly string[] = ['large', '__proto__', 'constructor', '🔥'];

const casesOf = (weights: Weights): fc.Arbitrary<readonly Case[]> =>
  fc
    .tuple(fc.shuffledSubarray([...caseNames], { minLength: 1 }), fc.array(caseOf(weights), { minLength: 4, maxLength: 4 }))
    .map(([names, made]) => names.flatMap((name, i) => made.slice(i, i + 1).map((one) => ({ name, ...one }))));

const ruleOf = (weights: Weights): fc.Arbitrary<Rule> => {
  const { cases } = weights;
  const plain = plainRuleOf(weights);
  const cased = fc.record({ rule: plain, cases: casesOf(weights) }).map((made) => ({ ...made.rule, cases: made.cases }));
  return cases === 0 ? plain : fc.oneof({ weight: 100 - cases, arbitrary: plain }, { weight: cases, arbitrary: cased });
};

const plainRuleOf = (weights: Weights): fc.Arbitrary<Rule> =>
  fc
    .record({
      permission: permissionOf(weights),
      rateLimit: sometimes(
        weights.limit,
        fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 3 }) }, { weight: 1, arbitrary: fc.constantFrom(0, 2_147_483_647) }),
      ),
      transform: fc.oneof(
        { weight: 75, arbitrary: fc.constant(undefined) },
        { weight: 10, arbitrary: fc.constant('log' as const) },
        { weight: 15, arbitrary: fc.constant('redact' as const) },
      ),
      override: sometimes(weights.override, fc.constant(true as const)),
    })
    .map(({ permission, ...fields }) => ({ ...defined<Rule>(fields), ...permission }));

/** Most of these tiers have an effect; `batch` and `toString` have none. */
const tierRulesOf = kept((weights: Weights): fc.Arbitrary<TierRules> => {
  const rule = ruleOf(weights);
  return fc
    .array(fc.tuple(fc.constantFrom(...tiers, ...tiers, 'batch', 'toString'), rule), { minLength: 3, maxLength: 6 })
    .map((pairs) => Object.fromEntries(pairs));
});

/** The names that a scene uses. Sharing them lets its rules match its calls. */
export interface Focus {
  readonly tools: readonly string[];
  readonly hops: readonly Hop[];
  readonly uids: readonly string[];
}

const typesOf = ({ hops }: Focus): readonly string[] => hops.flatMap((hop) => agentTypes[hopKinds.indexOf(hop)] ?? []);

const wildcardKeys = toolKeys.filter((key) => !tools.includes(key));

const documentOf = (focus: Focus, weights: Weights): fc.Arbitrary<Document> =>
  fc
    .record({
      mode: fc.oneof(
        { weight: 100 - weights.audit, arbitrary: fc.constantFrom(undefined, 'enforce' as const) },
        { weight: weights.audit, arbitrary: fc.constantFrom('audit' as const, 'audit-only' as const) },
      ),
      defaults: sometimes(60, tierRulesOf(weights)),
      tools: sometimes(75, recordOf([...focus.tools, ...focus.tools, ...wildcardKeys], tierRulesOf(weights), 4)),
    })
    .map((fields) => defined<Document>(fields));

const userDocumentOf = (focus: Focus, weights: Weights): fc.Arbitrary<UserDocument> =>
  fc
    .record({ document: documentOf(focus, weights), agentTypes: sometimes(60, recordOf(typesOf(focus), tierRulesOf(weights), 2)) })
    .map(({ document, agentTypes: ofTypes }) => ({ ...document, ...(ofTypes && { agentTypes: ofTypes }) }));

const outageArb = fc
  .record({
    maxStalenessSeconds: sometimes(70, fc.constantFrom(0, 3, 60)),
    then: sometimes(80, recordOf(tiers, fc.constantFrom('deny' as const, 'last_known' as const), 4)),
  })
  .map((fields) => defined<NonNullable<WorkspaceDocument['outage']>>(fields));

const workspaceDocumentOf = (focus: Focus, weights: Weights): fc.Arbitrary<WorkspaceDocument> =>
  fc
    .record({
      document: documentOf(focus, weights),
      unknownAgents: fc.oneof(
        { weight: 19, arbitrary: fc.constantFrom(undefined, 'allow' as const) },
        { weight: 1, arbitrary: fc.constant('deny' as const) },
      ),
      outage: sometimes(25, outageArb),
    })
    .map(({ document, ...rest }) => ({ ...document, ...defined<WorkspaceDocument>(rest) }));

/** Most of the names have a document. */
const byName = <N extends string, T>(names: readonly N[], document: fc.Arbitrary<T>): fc.Arbitrary<(readonly [N, T])[]> =>
  fc
    .tuple(...names.map((name) => fc.tuple(fc.constant(name), fc.option(document, { freq: 4 }))))
    .map((pairs) => pairs.flatMap(([name, found]) => (found === null ? [] : [[name, found] as const])));

// === Everything else

const toolLists = fc.oneof(
  { weight: 85, arbitrary: fc.constant([...tools, ...rareTools]) },
  { weight: 15, arbitrary: fc.subarray([...toolKeys]) },
);

const agentOf = (id: string, name: string): fc.Arbitrary<Agent> =>
  fc.record({
    id: fc.constant(id),
    name: fc.constant(name),
    suspended: fc.oneof({ weight: 49, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    enabledTools: toolLists,
    scopes: fc.oneof({ weight: 4, arbitrary: fc.constant([...scopes]) }, { weight: 1, arbitrary: fc.subarray([...scopes]) }),
    maxToolCalls: fc.oneof({ weight: 4, arbitrary: fc.constant(50) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) }),
    maxBudgetCents: fc.oneof({ weight: 3, arbitrary: fc.constant(1000) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 3 }) }),
    maxDurationMs: fc.oneof({ weight: 4, arbitrary: fc.constant(1_800_000) }, { weight: 1, arbitrary: fc.constantFrom(1000, 3000) }),
    maxToolRounds: fc.oneof({ weight: 3, arbitrary: fc.constant(10) }, { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 }) }),
    delegatable: fc.oneof({ weight: 14, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    canDelegate: fc.oneof({ weight: 14, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    maxDelegationDepth: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(0, 1, 2, 16) }),
  });

const profiles: Readonly<Record<string, fc.Arbitrary<Agent>>> = {
  'agent-1': agentOf('agent-1', 'deployer'),
  constructor: agentOf('agent-2', 'constructor'),
  'agent-3': agentOf('agent-3', long),
};
// The name of the last agent is the id of the first: ids take precedence.
const rareAgents = fc.tuple(agentOf('agent-4', 'twin'), agentOf('agent-5', 'twin'), agentOf('agent-6', 'agent-1'));

const agentsOf = (focus: Focus): fc.Arbitrary<readonly Agent[]> => {
  const named = focus.hops.flatMap(({ agent }) => (Object.hasOwn(profiles, agent) ? [profiles[agent] ?? fc.constant(null)] : []));
  const rare = fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: rareAgents });
  return fc.tuple(fc.tuple(...named), rare).map(([agents, rarely]) => [...agents, ...rarely].filter((agent) => agent !== null));
};

const membersOf = (focus: Focus): fc.Arbitrary<readonly Member[]> => {
  const member = (uid: string): fc.Arbitrary<Member> =>
    fc.record({ uid: fc.constant(uid), email: fc.constant(`${uid}@example.com`), role: fc.constantFrom(...roles) });
  return fc.tuple(fc.tuple(...focus.uids.map(member)), fc.nat(29)).map(([members, luck]) => (luck === 0 ? members.slice(1) : members));
};

const noPins = { tier: null, agent: null, client: null };
const pinsArb: fc.Arbitrary<Key['pins']> = fc.oneof(
  { weight: 9, arbitrary: fc.constant(noPins) },
  {
    weight: 1,
    arbitrary: fc.record({
      tier: fc.constantFrom(null, ...tiers),
      agent: fc.constantFrom(null, 'agent-1', 'constructor'),
      client: fc.constantFrom(null, 'claude-code'),
    }),
  },
);

/** The members' own keys, a service key, a key that may name any user, and a key without the scope to govern. */
const keysOf = (focus: Focus): fc.Arbitrary<readonly Key[]> =>
  fc
    .tuple(pinsArb, fc.constantFrom(...roles))
    .map(([pins, role]) => [
      ...focus.uids.map((uid) => ({ id: `key-${uid}`, scopes: ['govern'], uid, role: 'member' as const, pins })),
      { id: 'service', scopes: ['govern'], uid: null, role, pins },
      { id: 'operator', scopes: ['govern', 'govern.impersonate'], uid: null, role, pins: noPins },
      { id: 'reader', scopes: ['agents.read'], uid: null, role, pins: noPins },
    ]);

const serversArb: fc.Arbitrary<readonly Server[]> = fc.subarray([...scopes]).map((requiredScopes) => [
  {
    name: 'git',
    tools: [
      { name: 'push_force', requiredScopes },
      { name: 'pull', requiredScopes: ['never'] },
    ],
  },
]);

const worldOf = (focus: Focus, weights: Weights): fc.Arbitrary<World> =>
  fc.record({
    frozen: fc.oneof({ weight: 149, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    defaultPermission: fc.oneof(
      { weight: 3, arbitrary: fc.constant('allow' as const) },
      { weight: 1, arbitrary: fc.constant('deny' as const) },
    ),
    windowSeconds: fc.constantFrom(1, 2, 5, 60),
    workspace: fc.option(workspaceDocumentOf(focus, weights), { freq: 6 }),
    roles: byName(roles, documentOf(focus, weights)),
    agentTypes: byName(typesOf(focus), documentOf(focus, weights)),
    users: byName(
      focus.uids,
      fc.record({
        organisation: fc.option(userDocumentOf(focus, weights), { freq: 4 }),
        self: fc.option(userDocumentOf(focus, selfOf(weights)), { freq: 3 }),
      }),
    ).map((users) => users.map(([uid, parts]) => ({ uid, ...parts }))),
    agents: agentsOf(focus),
    members: membersOf(focus),
    keys: keysOf(focus),
    servers: serversArb,
  });

// === Calls

const handedArb = fc
  .record({ handedTools: sometimes(10, toolLists), handedScopes: sometimes(10, fc.subarray([...scopes])) })
  .map((handed) => defined<Pick<Hop, 'handedTools' | 'handedScopes'>>(handed));

/** Mostly valid chains: no profile occurs twice. */
const hopsOf = ({ hops }: Focus): fc.Arbitrary<readonly Hop[]> => {
  const chain = fc.shuffledSubarray([...hops], { minLength: Math.min(2, hops.length), maxLength: hops.length });
  const delegated = fc
    .tuple(chain, fc.array(handedArb, { minLength: 4, maxLength: 4 }))
    .map(([kinds, handed]) => kinds.map((hop, i) => ({ ...hop, ...(i > 0 && handed[i]) })));
  return fc.oneof(
    { weight: 60, arbitrary: fc.tuple(fc.constantFrom(...hops)) },
    { weight: 37, arbitrary: delegated },
    { weight: 2, arbitrary: fc.tuple(fc.constantFrom(...rareHops)) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...hopKinds, ...rareHops), { minLength: 1, maxLength: 18 }) },
  );
};

const identityOf = (focus: Focus): fc.Arbitrary<Pick<Call, 'keyId' | 'sub'>> => {
  const sub = fc.constantFrom(...focus.uids);
  return fc.oneof(
    { weight: 75, arbitrary: sub.map((uid) => ({ keyId: `key-${uid}`, sub: uid })) },
    { weight: 15, arbitrary: sub.map((uid) => ({ keyId: 'operator', sub: uid })) },
    { weight: 8, arbitrary: fc.constant({ keyId: 'service', sub: 'apikey:service' }) },
    {
      weight: 2,
      arbitrary: fc.record({
        keyId: fc.constantFrom('key-ann', 'service', 'reader', 'gone', '__proto__'),
        sub: fc.constantFrom('ann', 'bob', 'absent', 'apikey:reader'),
      }),
    },
  );
};

const toolOf = (focus: Focus): fc.Arbitrary<string> =>
  fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...focus.tools) }, { weight: 1, arbitrary: fc.constantFrom(...rareTools) });

/** What happens with a call, and before it. */
type Happening = Pick<Call, 'rounds' | 'spendCents' | 'silentForMs' | 'input' | 'approved'>;

const eventsOf = (ask: number): fc.Arbitrary<Happening> =>
  fc
    .record({
      rounds: sometimes(10, fc.integer({ min: 1, max: 3 })),
      spendCents: sometimes(6, fc.constantFrom(0, 0.5, 1, 3)),
      silentForMs: sometimes(2, fc.constantFrom(500, 3000, 3001, 3_600_001)),
      input: sometimes(80, inputArb),
      approved: sometimes(ask === 0 ? 0 : 45, fc.constantFrom('all' as const, 'all but one' as const)),
    })
    .map((fields) => defined<Happening>(fields));

interface Step {
  readonly run: number;
  readonly tool: number;
  readonly waitMs: number;
}

/** Up to three runs, each with its own caller, and bursts of calls of a few tools. */
const callsOf = (focus: Focus, { ask }: Weights): fc.Arbitrary<readonly Call[]> =>
  fc
    .record({
      startAt: fc.integer({ min: 0, max: 5000 }),
      runs: fc.array(fc.record({ identity: identityOf(focus), hops: hopsOf(focus) }), { minLength: 1, maxLength: 3 }),
      tools: fc.array(toolOf(focus), { minLength: 1, maxLength: 3 }),
      steps: fc.array(
        fc.tuple(
          fc.record({
            run: fc.nat(2),
            tool: fc.nat(2),
            waitMs: fc.oneof(
              { weight: 8, arbitrary: fc.constantFrom(0, 1, 400, 999, 1000) },
              { weight: 1, arbitrary: fc.constantFrom(2000, 3000, 6000, 61_000) },
            ),
          }),
          eventsOf(ask),
        ),
        { minLength: 1, maxLength: 8 },
      ),
    })
    .map(({ startAt, runs, tools: called, steps }) => {
      let at = startAt;
      return steps.flatMap(([step, events]: readonly [Step, Happening]) => {
        at += step.waitMs;
        const run = step.run % runs.length;
        const tool = called[step.tool % called.length];
        const caller = runs[run];
        return caller === undefined || tool === undefined
          ? []
          : [{ at, run: `run-${run}`, ...caller.identity, hops: caller.hops, tool, ...events }];
      });
    });

const focusArb: fc.Arbitrary<Focus> = fc.record({
  tools: fc.shuffledSubarray([...tools], { minLength: 1, maxLength: 2 }),
  hops: fc.shuffledSubarray([...hopKinds], { minLength: 1, maxLength: 4 }),
  uids: fc.shuffledSubarray([...uids], { minLength: 1, maxLength: 2 }),
});

/** Without weights, the rules of a scene have no cases. */
export const sceneOf = (weights: Partial<Weights> = {}): fc.Arbitrary<Scene> => {
  const all = { ...organisation, ...weights };
  return focusArb.chain((focus) => fc.record({ world: worldOf(focus, all), calls: callsOf(focus, all) }));
};

/** A document about everything that a scene can contain. */
const anything: Focus = { tools, hops: hopKinds, uids };
export const anyDocumentOf = (weights: Partial<Weights>): fc.Arbitrary<UserDocument> =>
  userDocumentOf(anything, { ...organisation, ...weights });
export const selfDocumentOf = (weights: Partial<Weights>): fc.Arbitrary<UserDocument> => userDocumentOf(anything, { ...own, ...weights });
