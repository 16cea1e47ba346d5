// Tries single calls by a policy, for tests of policies. Each call is decided as if it were the first one: nothing is
// counted between calls. No clock is read: the caller says at which time a call is made.
import type {
  CompiledAgent,
  CompiledMember,
  CompiledServer,
  ReasonCode,
  Role,
  RulePermission,
  Tier,
  Transform,
} from '@tollgate/proto/contract';
import { roles } from '@tollgate/proto/contract';
import { bindCaller } from '../decide/bind.ts';
import type { Index } from '../decide/build-index.ts';
import type { Claim } from '../decide/call.ts';
import type { Caller } from '../decide/caller.ts';
import type { CallFacts } from '../decide/cases.ts';
import { decide } from '../decide/decide.ts';
import type { Decision } from '../decide/decision.ts';
import type { Fold } from '../decide/fold.ts';
import { answersByHop, conditionalPlan, foldsOf } from '../decide/plan.ts';
import { createCounters } from '../limits/counters.ts';
import { createRunUsage } from '../limits/usage.ts';
import { indexOf } from './index-of.ts';
import type { StoredDocument } from './policy-document.ts';
import type { PolicyDefaults, WorkspaceKey } from './source.ts';

/** The workspace in which calls are tried. Its documents were checked. */
export interface TriedWorld {
  readonly documents: readonly StoredDocument[];
  readonly agents: readonly CompiledAgent[];
  readonly members: readonly CompiledMember[];
  readonly servers: readonly CompiledServer[];
}

/** A direct call of one agent. */
export interface TriedCall {
  /** A member of the world. Or a role: the caller is a service key with this role, which is no member. */
  readonly caller: { readonly sub: string } | { readonly role: Role };
  /** The name of an agent. Empty: an agent without a name. */
  readonly agent: string;
  readonly client: string;
  readonly tier: Tier;
  readonly tool: string;
  /** Plain JSON. */
  readonly input: unknown;
  /** In ms since 1970. Null: the call has no time. */
  readonly wallTime: number | null;
}

export interface TriedCase {
  /** The key of the document, such as `role:member`. */
  readonly document: string;
  /** For example `tools["payments.transfer"].api.cases["large"]`. */
  readonly path: string;
  readonly name: string;
  readonly result: 'holds' | 'does not hold' | 'undecided';
  /** Why the case is undecided, and the part of the condition that could not be evaluated. */
  readonly why?: { readonly reason: string; readonly at: string };
  /** Whether the permission, the transform or a limit of the call is that of this case. */
  readonly acts: boolean;
}

export interface TriedDecision {
  /** `ask`: the call is denied until a person has approved it. */
  readonly decision: RulePermission;
  readonly code: ReasonCode;
  /** As the agent reads it. */
  readonly reason: string;
  readonly transform: Transform;
  /** The cases that were looked at. Those after the first that holds in their rule are not. */
  readonly cases: readonly TriedCase[];
  /** The limits that count the call, in calls per window. A denied call counts in none, one that is asked for when it continues. */
  readonly limits: readonly number[];
  /** True: a condition has read the time, and the call has none. Then the decision means nothing. */
  readonly needsTime: boolean;
}

/**
 * Returns a function that tries one call in this world. Both throw an `Error` only if the documents were not checked.
 */
export function createTrial(world: TriedWorld, defaults: PolicyDefaults): (call: TriedCall) => TriedDecision {
  const keys = [
    ...roles.map((role) => keyOf(serviceKey(role), null, role)),
    ...world.members.map(({ uid, role }) => keyOf(ownKey(uid), uid, role)),
  ];
  const source = { workspace: 'test', workspaceId: '0'.repeat(32), epoch: 'test', revision: 0, frozen: false, ...world, keys };
  const index = indexOf(source, defaults);
  return (call) => tryCall(index, defaults, call);
}

const serviceKey = (role: Role): string => `service-${role}`;
const ownKey = (uid: string): string => `own-${uid}`;

const keyOf = (id: string, uid: string | null, role: Role): WorkspaceKey => ({
  id,
  hash: '',
  scopes: ['govern'],
  uid,
  role,
  expiresAt: null,
  pins: { tier: null, agent: null, client: null },
});

interface TriedFacts extends CallFacts {
  readsTime: boolean;
}

function tryCall(
  index: Index,
  { windowSeconds }: PolicyDefaults,
  { caller: by, agent, client, tier, tool, input, wallTime }: TriedCall,
): TriedDecision {
  const identity: Claim['identity'] =
    'sub' in by ? { sub: by.sub, keyId: ownKey(by.sub) } : { sub: `apikey:${serviceKey(by.role)}`, keyId: serviceKey(by.role) };
  const caller = bindCaller(index, { identity, hops: [{ agent, client, tier }] });
  const facts: TriedFacts = {
    args: input ?? {},
    caseAnswers: null,
    approved: null,
    readsTime: false,
    get wallTime() {
      facts.readsTime = true;
      return wallTime ?? 0;
    },
  };
  const usage = createRunUsage(createCounters(windowSeconds), { originSub: identity.sub, startedAt: 0 });
  const decideIt = (): Decision => decide(caller, tool, usage, { connected: true, heardAt: 0 }, 0, undefined, facts);
  const decision = decideIt();
  if (decision.asks !== null) facts.approved = decision.asks.map(({ digest }) => digest);
  return {
    decision: decision.asks === null ? decision.decision : 'ask',
    code: decision.code,
    reason: decision.reason,
    transform: decision.transform,
    cases: casesOf(caller, tool, facts, decision),
    limits: (decision.asks === null ? decision : decideIt()).limits.limits.map(({ max }) => max),
    needsTime: facts.readsTime && wallTime === null,
  };
}

/** Returns what was found of each case. Empty: the call was denied before policy was read, or no rule has cases. */
function casesOf(caller: Caller, tool: string, { caseAnswers }: TriedFacts, { rule, undecided }: Decision): readonly TriedCase[] {
  const plan = rule === null || caseAnswers === null ? null : conditionalPlan(caller, tool, undefined);
  if (plan === null || caseAnswers === null) return [];
  const acting = placesIn(foldsOf(caller, tool, undefined, answersByHop(plan.questions, caseAnswers.answers)).enforced);
  return plan.questions.flatMap(({ document, rule: placed }, question) => {
    const answer = caseAnswers.answers[question];
    return (placed.cases ?? []).flatMap(({ path }, at): readonly TriedCase[] => {
      if (answer === undefined || (answer.held >= 0 && at > answer.held)) return [];
      const why = undecided?.find((one) => one.document === document && one.path === path);
      return [
        {
          document,
          path,
          name: nameIn(path, placed.path),
          result: at === answer.held ? 'holds' : answer.undecided.includes(at) ? 'undecided' : 'does not hold',
          ...(why === undefined ? {} : { why: { reason: why.reason, at: why.at } }),
          acts: acting.has(`${document} ${path}`),
        },
      ];
    });
  });
}

/** Returns the places that a fold takes its values from, each as `<document> <path>`. */
const placesIn = ({ permissionBy, transformBy, asks, limits }: Fold): ReadonlySet<string> =>
  new Set([...[permissionBy, transformBy, ...asks].map(({ document, path }) => `${document} ${path}`), ...limits.map(({ id }) => id)]);

/** Returns the name of a case: its path is that of its rule, then `.cases["<name>"]`. */
const nameIn = (path: string, rulePath: string): string => String(JSON.parse(path.slice(`${rulePath}.cases[`.length, -1)));
