// One policy and one call at every endpoint. Each is asked about the same call under the same policy. All must decide
// alike, and their entries must name the same rule, which is the one that the reference evaluator names. Policies are
// written and entries are read over REST. `TOLLGATE_TEST_SEED` repeats the cases of a failure.
// The cases hold only what every endpoint can be asked about alike. A key's pins give each the same agent, tier and
// client, whatever a caller claims. A tool of a registered server is `<server>.<METHOD>`, since the endpoint of HTTP
// tools names calls so. No rule is for a name that a host would write as another one's: an endpoint for such hosts
// denies it with `tool_ambiguous` and other endpoints do not, which is intended.
import { expect, onTestFinished, test } from 'vitest';
import * as reference from '../semantics/reference.ts';
import type { Document, Outcome, UserDocument, World } from '../semantics/world.ts';
import { type Answered, doorsOf } from './every-door/doors.ts';
import { agent, agentTypeOf, callers, type Case, client, generateCases, methods, server } from './every-door/policies.ts';
import { type Armed, caps, type Stand, startStand } from './every-door/stand.ts';
import { listen } from './live.ts';

const most = 200;
const count = Math.min(most, Number(process.env['TOLLGATE_TEST_CASES'] ?? most));
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** The entries of this many cases are awaited together. */
const batchSize = 20;

interface Asked {
  readonly number: number;
  readonly made: Case;
  readonly outcome: Outcome;
  /** The workspace's revision, at which every endpoint decides. */
  readonly revision: number;
  readonly caller: Armed;
  readonly answers: ReadonlyMap<string, Answered>;
}

test('every endpoint decides alike, by the same rule of the same revision', { timeout: 300_000 }, async () => {
  const stand = await startStand();
  const doors = doorsOf(stand);
  const write = await createWriter(stand);
  const log = await followEntries(stand);
  const outcomes: Outcome[] = [];
  let asked: Asked[] = [];
  for (const [number, made] of generateCases(count, seed).entries()) {
    const caller = armed(stand, made);
    const { world, revision } = await write(made);
    const outcome = outcomeOf(world, caller, `${server}.${made.method}`);
    outcomes.push(outcome);
    await stand.reached(revision);
    const answered = [...doors].map(async ([name, door]) => [name, await door({ caller, method: made.method, number })] as const);
    asked.push({ number, made, outcome, revision, caller, answers: new Map(await Promise.all(answered)) });
    if (asked.length < batchSize && number + 1 < count) continue;
    for (const one of asked) await checkEntries(one, log);
    asked = [];
  }
  expect(stand.failures).toEqual([]);
  // With fewer cases, for example in a manual run, no class can be expected.
  if (count === most) checkClasses(outcomes);
});

function armed(stand: Stand, { caller: { uid, tier } }: Case): Armed {
  const found = stand.callers.find((one) => one.uid === uid && one.tier === tier);
  if (found === undefined) throw new Error(`${uid} has no key of tier ${tier}`);
  return found;
}

// === Writing policies

const denied = { permission: 'deny' } as const;
/** These documents are about other subjects: no caller must match them. */
const aboutOthers: Document = { defaults: { interactive: denied, subagent: denied, background: denied, api: denied } };

interface Set {
  readonly workspacePolicy: Document;
  readonly rolePolicies: Readonly<Record<string, Document>>;
  readonly agentTypePolicies: Readonly<Record<string, Document>>;
  readonly userPolicies: Readonly<Record<string, UserDocument>>;
}

/**
 * The organisation's documents: those of the case, and those about others, among them the agent that the callers claim
 * to be.
 */
function setOf({ caller, policy }: Case): Set {
  const named = <T extends Document>(
    own: string | null,
    document: T | null,
    all: readonly string[],
  ): Readonly<Record<string, T | Document>> =>
    Object.fromEntries(
      all.flatMap((name) => (name !== own ? [[name, aboutOthers] as const] : document === null ? [] : [[name, document] as const])),
    );
  const types = [...callers.map(agentTypeOf), `${client}::${caller.tier}::other`, 'other::subagent::other', `tollgate::api::${agent}`];
  const uids = callers.flatMap(({ uid }) => uid ?? []);
  return {
    workspacePolicy: policy.workspace ?? {},
    rolePolicies: named(caller.role, policy.role, ['owner', 'admin', 'member']),
    agentTypePolicies: named(agentTypeOf(caller), policy.agentType, [...new Set(types)]),
    userPolicies: named(caller.uid, policy.organisation, [...new Set(uids)]),
  };
}

/** Writes a case's policy. Returns what the reference must know of it, and the first revision that holds it. */
async function createWriter({ rest, callers: keys }: Stand) {
  const own = new Map<string, string>();
  for (const { uid, role } of keys) if (uid !== null && !own.has(uid)) own.set(uid, await rest.keyOf(role, ['*'], uid));
  let written: string | null = null;
  const selfOf = (method: 'GET' | 'PUT' | 'DELETE', uid: string, body?: UserDocument) =>
    rest.ask(method, `/acme/admin/userPolicies/${uid}`, { key: own.get(uid) ?? '', ...(body === undefined ? {} : { body }) });

  return async (made: Case): Promise<{ readonly world: World; readonly revision: number }> => {
    const { caller, policy } = made;
    if (written !== null) expect(await selfOf('DELETE', written)).toMatchObject({ status: 200 });
    written = null;
    const set = setOf(made);
    expect(await rest.ask('POST', '/acme/admin/policies/apply', { body: set })).toMatchObject({ status: 200 });
    let self: UserDocument | null = null;
    if (policy.self !== null && caller.uid !== null) {
      const { status } = await selfOf('PUT', caller.uid, policy.self);
      // A policy that is looser than the organisation's is refused, and no part of it is stored.
      expect([200, 403]).toContain(status);
      if (status === 200) written = caller.uid;
      // A field that is equal to the organisation's part is no change.
      self = selfIn((await selfOf('GET', caller.uid)).body);
    }
    const { rows } = await rest.pool.query<{ revision: string }>("select revision from workspace where slug = 'acme'");
    return { world: worldOf(set, keys, { uid: written, self }), revision: Number(rows[0]?.revision) };
  };
}

/** The member's own document as it is stored. */
const selfIn = (shown: unknown): UserDocument | null =>
  (shown as { readonly parts?: { readonly self?: UserDocument } }).parts?.self ?? null;

interface Own {
  /** Null: no member has a part of their own. */
  readonly uid: string | null;
  readonly self: UserDocument | null;
}

const worldOf = (set: Set, keys: readonly Armed[], own: Own): World => ({
  frozen: false,
  defaultPermission: 'allow',
  windowSeconds: 60,
  workspace: set.workspacePolicy,
  roles: callers.flatMap(({ role }) => {
    const document = set.rolePolicies[role];
    return document === undefined ? [] : [[role, document] as const];
  }),
  agentTypes: Object.entries(set.agentTypePolicies),
  users: [...new Set(keys.flatMap(({ uid }) => uid ?? []))].map((uid) => ({
    uid,
    organisation: set.userPolicies[uid] ?? null,
    self: uid === own.uid ? own.self : null,
  })),
  agents: [
    {
      id: 'registered',
      name: agent,
      suspended: false,
      enabledTools: [`${server}.*`],
      scopes: [],
      ...caps,
      delegatable: true,
      canDelegate: false,
      maxDelegationDepth: null,
    },
  ],
  members: keys.flatMap(({ uid, role }) => (uid === null ? [] : [{ uid, email: `${uid}@acme.test`, role }])),
  keys: keys.map(({ keyId, uid, role, tier }) => ({ id: keyId, scopes: ['govern'], uid, role, pins: { tier, agent, client } })),
  servers: [{ name: server, tools: methods.map((name) => ({ name, requiredScopes: [] })) }],
});

const subOf = ({ uid, keyId }: Armed): string => uid ?? `apikey:${keyId}`;

function outcomeOf(world: World, caller: Armed, tool: string): Outcome {
  const hop = { tier: 'subagent', client: 'other', agent: 'other' } as const;
  const [outcome] = reference.decideCalls(world, [{ at: 0, run: 'one', keyId: caller.keyId, sub: subOf(caller), hops: [hop], tool }]);
  if (outcome === undefined) throw new Error('the reference decides nothing');
  return outcome;
}

// === Reading entries

type Entry = Readonly<Record<string, unknown>>;

interface Log {
  /** The entry of a call, once it is in the audit log. */
  find(session: string, number: number): Promise<Entry>;
}

const placeOf = (session: string, number: number): string => JSON.stringify([session, number]);

/** Collects decision entries as they arrive. */
async function followEntries({ rest }: Stand): Promise<Log> {
  const live = await listen(rest);
  onTestFinished(() => live.close());
  const found = new Map<string, Entry>();
  return {
    find: async (session, number) => {
      const place = placeOf(session, number);
      for (;;) {
        const entry = found.get(place);
        if (entry !== undefined) return entry;
        const block = await live.next();
        if (block === null) throw new Error(`the audit log ended before the entry of ${place}`);
        if (block.data?.['hookEvent'] !== 'PreToolUse') continue;
        const [, of] = /"case":"?(\d+)/.exec(JSON.stringify(block.data['input'])) ?? [];
        const other = placeOf(String(block.data['sessionId']), Number(of));
        // No call is decided twice.
        expect(found.has(other), `a second entry of ${other}`).toBe(false);
        found.set(other, block.data);
      }
    },
  };
}

/** The fields of an entry that must be equal behind every endpoint. */
const sameIn = (entry: Entry) =>
  Object.fromEntries(
    [
      'tool',
      'decision',
      'code',
      'decisionReason',
      'rule',
      'shadow',
      'transform',
      'sub',
      'keyId',
      'role',
      'agentName',
      'agentId',
      'agentTier',
      'agentType',
      'depth',
      'revision',
      'epoch',
    ].map((name) => [name, entry[name]]),
  );

async function checkEntries({ number, made, outcome, revision, caller, answers }: Asked, log: Log): Promise<void> {
  const about = `case ${number} of seed ${seed}: ${JSON.stringify(made)}`;
  const { decision, code, rule, shadow, storedTransform } = outcome;
  const wanted = {
    tool: `${server}.${made.method}`,
    decision,
    code,
    rule: { ...rule, revision },
    transform: storedTransform,
    sub: subOf(caller),
    agentType: agentTypeOf(caller),
    revision,
  };
  const entries = new Map<string, Entry>();
  for (const [door, { session }] of answers) entries.set(door, sameIn(await log.find(session, number)));
  const [first] = entries.values();
  for (const [door, entry] of entries) {
    expect(entry, `${door}, ${about}`).toMatchObject(wanted);
    expect(entry, `${door} is as any other, ${about}`).toEqual(first);
    expect(answers.get(door)?.decision, `what ${door} answered, ${about}`).toBe(decision);
    if (shadow === null) expect(entry['shadow'], `${door}, ${about}`).toBeUndefined();
    else expect(entry['shadow'], `${door}, ${about}`).toMatchObject(shadow);
  }
}

// === Classes that the cases must cover

const isDeniedBy = ({ code, rule }: Outcome, layer: string, part?: string): boolean =>
  code === 'policy_denied' && rule?.layer === layer && rule.part === part;

const classes: Readonly<Record<string, (outcome: Outcome) => boolean>> = {
  'denied by the workspace': (outcome) => isDeniedBy(outcome, 'workspace'),
  'denied by the role': (outcome) => isDeniedBy(outcome, 'role'),
  'denied by the agent type': (outcome) => isDeniedBy(outcome, 'agent-type'),
  'denied by the organisation for the user': (outcome) => isDeniedBy(outcome, 'user', 'organisation'),
  'denied by the user': (outcome) => isDeniedBy(outcome, 'user', 'self'),
  'used up': ({ code }) => code === 'rate_limited',
  override: ({ rule }) => rule?.override === true,
  'audit mode': ({ shadow }) => shadow !== null,
  allowed: ({ decision }) => decision === 'allow',
};

function checkClasses(outcomes: readonly Outcome[]): void {
  const shares = Object.entries(classes).map(([name, holds]) => [name, outcomes.filter(holds).length / outcomes.length] as const);
  expect(
    shares.filter(([, share]) => share < 0.05),
    `of seed ${seed}, which shares are too small`,
  ).toEqual([]);
}
