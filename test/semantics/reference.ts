// The reference evaluator: docs/design/semantics.md, line by line, in naive and obvious code. It imports nothing from this
// repository, keeps full lists of past events, and searches them linearly. Every evaluator must agree with it.
import {
  type Facts,
  fold,
  foldChain,
  type FoldedRules,
  type Layer,
  own,
  spotsOf,
  type Standing,
  wildcardMatches,
  winnerFrom,
} from './reference-fold.ts';
import type { Agent, Call, EntrySeen, Hop, LimitSeen, Outcome, Role, Tier, Verdict, Winner, World } from './world.ts';

// === Names

/**
 * A name has 1 to 200 characters, no control or format character, no unpaired surrogate, and no blank at either end.
 */
const isName = (text: string): boolean =>
  text.length >= 1 && text.length <= 200 && !/\p{Cc}|\p{Cf}|\p{Cs}/u.test(text) && text.trim() === text;

const names = (list: readonly string[], tool: string): boolean => list.some((key) => key === tool || wildcardMatches(key, tool));

// === The layers of a call

const factsOf = ({ role }: Subject, { tier, name }: ResolvedHop, { tool, input }: Call): Facts => ({
  args: input ?? {},
  tool: { name: tool },
  agent: { tier, name },
  user: { role },
});

/** Returns the layers that are set, from broad to specific, with the rules of each that match this call at this hop. */
function layersOf(world: World, subject: Subject, hop: ResolvedHop, call: Call): Layer[] {
  const user = world.users.find(({ uid }) => uid === subject.uid);
  const set = [
    { layer: 'workspace' as const, key: '', document: world.workspace },
    { layer: 'role' as const, key: subject.role, document: world.roles.find(([role]) => role === subject.role)?.[1] },
    { layer: 'agent-type' as const, key: hop.agentType, document: world.agentTypes.find(([type]) => type === hop.agentType)?.[1] },
    { layer: 'user' as const, part: 'organisation' as const, key: user?.uid, document: user?.organisation },
    { layer: 'user' as const, part: 'self' as const, key: user?.uid, document: user?.self },
  ];
  const facts = factsOf(subject, hop, call);
  return set.flatMap(({ layer, part, key, document }) => {
    if (document === null || document === undefined) return [];
    const isSelf = part === 'self';
    return [
      {
        ...spotsOf(document, call.tool, { ...hop, facts }),
        audit: (document.mode ?? 'enforce') !== 'enforce',
        isSelf,
        stand: (saying) => ({
          ...saying,
          // In a member's own part, `override` is ignored.
          override: saying.override && !isSelf,
          layer,
          ...(part && { part }),
          id: JSON.stringify([layer, key, part, saying.path]),
          document: layer === 'workspace' ? layer : `${layer}:${key}${part === undefined ? '' : `:${part}`}`,
        }),
      },
    ];
  });
}

/** Returns whether the call is allowed, or asked for, in some way that its undecided cases may turn out, if no counter is used up. */
export function mayAllow(world: World, call: Call): boolean {
  const subject = identify(world, call);
  if (typeof subject === 'string') return false;
  const layers = resolveHops(world, call).map((hop) => layersOf(world, subject, hop, call));
  return layers.every(
    (hop) =>
      fold(
        hop.filter(({ audit }) => !audit),
        world.defaultPermission,
      ).mayAllow,
  );
}

// === Who calls

interface Subject {
  readonly sub: string;
  readonly uid: string | null;
  readonly role: Role;
}

interface ResolvedHop extends Hop {
  readonly profile: Agent | null;
  readonly ambiguous: boolean;
  readonly agentType: string;
  /** The name of the profile, or the name that was claimed. */
  readonly name: string;
}

/** Returns the chain as claimed, with the values that the key pins on its last hop. */
function pinnedHops(world: World, call: Call): Hop[] {
  const pins = world.keys.find(({ id }) => id === call.keyId)?.pins;
  return call.hops.map((hop, i) =>
    i < call.hops.length - 1
      ? hop
      : { ...hop, tier: pins?.tier ?? hop.tier, agent: pins?.agent ?? hop.agent, client: pins?.client ?? hop.client },
  );
}

const resolveHops = (world: World, call: Call): ResolvedHop[] => pinnedHops(world, call).map((hop) => resolveHop(world, hop));

function resolveHop(world: World, hop: Hop): ResolvedHop {
  const byId = world.agents.filter(({ id }) => id === hop.agent);
  const found = byId.length > 0 ? byId : world.agents.filter(({ name }) => name === hop.agent);
  const profile = found.length === 1 ? (found[0] ?? null) : null;
  const name = profile?.name ?? hop.agent;
  return { ...hop, profile, ambiguous: found.length > 1, name, agentType: `${hop.client}::${hop.tier}::${name}` };
}

function identify(world: World, call: Call): Subject | string {
  const key = world.keys.find(({ id }) => id === call.keyId);
  if (key === undefined) return 'key_revoked';
  const may = (scope: string): boolean => key.scopes.includes('*') || key.scopes.includes(scope);
  if (!may('govern')) return 'key_scope';
  if (key.uid === null && call.sub === `apikey:${key.id}`) return { sub: call.sub, uid: null, role: key.role };
  const member = world.members.find(({ uid }) => uid === call.sub);
  if (member === undefined) return 'identity_unknown';
  if (key.uid === call.sub) return { sub: member.uid, uid: member.uid, role: member.role };
  if (!may('govern.impersonate')) return 'key_scope';
  // A caller gains no higher role by naming another user.
  const rank = { owner: 0, admin: 1, member: 2 };
  if (rank[member.role] < rank[key.role]) return 'key_scope';
  return { sub: member.uid, uid: member.uid, role: member.role };
}

// === The order of one decision

interface Charge {
  readonly id: string;
  readonly originSub: string;
  readonly step: number;
}

interface Run {
  readonly startedAt: number;
  rounds: number;
  attempts: number;
  spentCents: number;
}

/** Everything that happened so far. */
interface Past {
  readonly enforced: Charge[];
  readonly shadow: Charge[];
  readonly runs: Map<string, Run>;
}

export function decideCalls(world: World, calls: readonly Call[]): Outcome[] {
  const past: Past = { enforced: [], shadow: [], runs: new Map() };
  return calls.map((call) => decideCall(world, past, call));
}

function decideCall(world: World, past: Past, call: Call): Outcome {
  const run = past.runs.get(call.run) ?? { startedAt: call.at, rounds: 0, attempts: 0, spentCents: 0 };
  past.runs.set(call.run, run);
  run.rounds += call.rounds ?? 0;
  run.spentCents += call.spendCents ?? 0;

  const hops = resolveHops(world, call);
  const subject = identify(world, call);
  const layers = typeof subject === 'string' ? [] : hops.map((hop) => layersOf(world, subject, hop, call));
  const enforced = foldChain(
    layers.map((hop) =>
      fold(
        hop.filter(({ audit }) => !audit),
        world.defaultPermission,
      ),
    ),
  );
  const shadow = foldChain(layers.map((hop) => fold(hop, world.defaultPermission)));

  const stale = outageOf(world, call, hops);
  const refusal = refusalBeforeCaps(world, call, hops, subject, stale);
  // The payload of a call that is denied before policy was read is stored redacted.
  const refused = {
    decision: 'deny',
    transform: 'redact',
    storedTransform: 'redact',
    rule: null,
    shadow: null,
    stop: null,
    retryAfterMs: null,
    limits: [],
    asks: [],
  } as const;
  const outage = stale !== 'fresh' && !isHalted(world, hops);
  if (refusal !== null) return { ...refused, code: refusal, outage, attempt: false };

  const cap = capReached(hops.at(-1)?.profile ?? null, run, call);
  run.attempts += 1;
  if (cap !== null) return { ...refused, code: cap.code, stop: cap.stop, outage, attempt: true };

  // A call without a subject was refused above.
  const originSub = typeof subject === 'string' ? '' : subject.sub;
  const now = { at: call.at, windowSeconds: world.windowSeconds, originSub };
  const claimed = approvedBy(call, enforced.asks);
  const acted = permitAndCount(enforced, past.enforced, now, claimed);
  // A full limit is met before anybody is asked, so there is no approval then.
  const covers = acted.code === 'rate_limited' ? [] : claimed;
  const audited = layers.some((hop) => hop.some(({ audit }) => audit));
  const would = audited ? permitAndCount(shadow, past.shadow, now, covers) : acted;
  // For a denied call, a different transform of the payload makes no difference.
  const differs = would.code !== acted.code || (would.decision === 'allow' && would.transform !== acted.transform);
  return {
    ...acted,
    storedTransform: acted.transform === 'redact' || would.transform === 'redact' ? 'redact' : 'log',
    shadow: differs
      ? { decision: would.code === 'approval_pending' ? 'ask' : would.decision, code: would.code, transform: would.transform }
      : null,
    stop: null,
    outage,
    attempt: true,
  };
}

/**
 * Checks whether the control plane was out of contact for too long, and returns what the strictest of the chain's
 * tiers then requires.
 */
function outageOf(world: World, call: Call, hops: readonly ResolvedHop[]): 'fresh' | 'deny' | 'last_known' {
  if (call.silentForMs === undefined) return 'fresh';
  const rule = world.workspace?.outage;
  const maxStalenessSeconds = rule?.maxStalenessSeconds ?? 3600;
  if (maxStalenessSeconds > 0 && call.silentForMs <= maxStalenessSeconds * 1000) return 'fresh';
  return hops.every(({ tier }) => own(rule?.then, tier) === 'last_known') ? 'last_known' : 'deny';
}

/** Step 0 of the decision. */
const isHalted = (world: World, hops: readonly ResolvedHop[]): boolean => world.frozen || hops.some(({ profile }) => profile?.suspended);

/** Steps 0 to 3 of the decision. Returns the code of the first step that denies. */
function refusalBeforeCaps(
  world: World,
  call: Call,
  hops: readonly ResolvedHop[],
  subject: Subject | string,
  stale: 'fresh' | 'deny' | 'last_known',
): string | null {
  const { tool } = call;
  // Step 0
  if (world.frozen) return 'workspace_frozen';
  if (hops.some(({ profile }) => profile?.suspended)) return 'agent_suspended';
  // Step 1
  if (stale === 'deny') return 'outage';
  // Step 2
  const wellNamed = call.hops.every(({ agent, client }) => (agent === '' || isName(agent)) && isName(client) && !client.includes('::'));
  if (!isName(tool) || !wellNamed) return 'call_malformed';
  if (typeof subject === 'string') return subject;
  // Step 3
  for (const { profile, ambiguous } of hops) {
    if (ambiguous) return 'agent_ambiguous';
    if (profile === null && world.workspace?.unknownAgents === 'deny') return 'agent_unknown';
  }
  if (hops.some(({ profile }) => profile !== null && !names(profile.enabledTools, tool))) return 'agent_tools';
  if (!delegationPermitted(hops)) return 'delegation_denied';
  if (hops.some(({ handedTools }) => handedTools !== undefined && !names(handedTools, tool))) return 'delegated_tools';
  if (!scopesSuffice(world, hops, tool)) return 'scope_missing';
  return null;
}

function delegationPermitted(hops: readonly ResolvedHop[]): boolean {
  const below = hops.length - 1;
  if (below > 16) return false;
  const ids = hops.flatMap(({ profile }) => (profile === null ? [] : [profile.id]));
  if (new Set(ids).size < ids.length) return false;
  return hops.every(({ profile }, i) => {
    if (profile === null) return true;
    if (i < below && !profile.canDelegate) return false;
    if (i > 0 && !profile.delegatable) return false;
    return profile.maxDelegationDepth === null || profile.maxDelegationDepth >= below - i;
  });
}

function scopesSuffice(world: World, hops: readonly ResolvedHop[], tool: string): boolean {
  const required = world.servers.flatMap((server) =>
    server.tools.filter(({ name }) => `${server.name}.${name}` === tool).flatMap(({ requiredScopes }) => requiredScopes),
  );
  // An agent without a profile has no scopes.
  const has = ({ profile, handedScopes = [...required] }: ResolvedHop, scope: string): boolean =>
    profile !== null && profile.scopes.includes(scope) && handedScopes.includes(scope);
  return required.every((scope) => hops.every((hop) => has(hop, scope)));
}

/** Stored caps can be out of bounds. A run clamps them to these bounds. */
function withinBounds(agent: Agent): Agent {
  const clamp = (value: number, min: number, max: number): number => Math.min(Math.max(value, min), max);
  return {
    ...agent,
    maxToolCalls: clamp(agent.maxToolCalls, 1, 10_000),
    maxBudgetCents: clamp(agent.maxBudgetCents, 0, 1_000_000),
    maxDurationMs: clamp(agent.maxDurationMs, 1000, 86_400_000),
    maxToolRounds: clamp(agent.maxToolRounds, 1, 1000),
  };
}

/** Step 4 of the decision. */
function capReached(agent: Agent | null, run: Run, { at, approved }: Call): { readonly code: string; readonly stop: string } | null {
  if (agent === null) return null;
  const profile = withinBounds(agent);
  if (at - run.startedAt >= profile.maxDurationMs) return { code: 'cap_duration', stop: 'max_duration' };
  if (run.rounds > profile.maxToolRounds) return { code: 'cap_tool_rounds', stop: 'max_rounds' };
  // An approved call was counted when it was asked for.
  if (approved === undefined && run.attempts >= profile.maxToolCalls) return { code: 'cap_tool_calls', stop: 'max_tool_calls' };
  const overspent = profile.maxBudgetCents > 0 ? run.spentCents >= profile.maxBudgetCents : run.spentCents > 0;
  return overspent ? { code: 'cap_budget', stop: 'max_budget' } : null;
}

interface Now {
  readonly at: number;
  readonly windowSeconds: number;
  readonly originSub: string;
}

interface PermissionVerdict extends Verdict {
  readonly rule: Winner;
  readonly retryAfterMs: number | null;
  readonly limits: readonly LimitSeen[];
  readonly asks: readonly string[];
}

/** The rules that a claimed approval of the call covers, of those that ask. */
function approvedBy({ approved }: Call, asks: readonly string[]): readonly string[] {
  const sorted = [...new Set(asks)].toSorted();
  return approved === undefined ? [] : approved === 'all' ? sorted : sorted.slice(0, -1);
}

/**
 * Steps 5, 6 and 7. An allowed call counts once in each limit that its fold collected. A person is asked after the limits
 * were met; the call continues if every rule that asks is covered by an approval.
 */
function permitAndCount(
  { permission, transform, winner, limits, asks }: FoldedRules,
  charges: Charge[],
  now: Now,
  covered: readonly string[],
): PermissionVerdict {
  const denied = { decision: 'deny', transform, rule: winner, retryAfterMs: null, limits: [], asks: [] } as const;
  if (permission === 'deny') return { ...denied, code: 'policy_denied' };
  const full = limits.findLast((limit) => !hasCapacity(limit, charges, now));
  if (full !== undefined) {
    return { ...denied, code: 'rate_limited', rule: winnerFrom(full), retryAfterMs: retryAfterMs(full, charges, now) };
  }
  if (permission === 'ask' && !asks.every((one) => covered.includes(one)))
    return { ...denied, code: 'approval_pending', asks: [...new Set(asks)].toSorted() };
  const step = Math.floor(now.at / 1000);
  const once = limits.filter(({ id }, i) => !limits.slice(i + 1).some((later) => later.id === id));
  for (const { id } of once) charges.push({ id, originSub: now.originSub, step });
  return { decision: 'allow', code: 'allowed', transform, rule: winner, retryAfterMs: null, limits: once.map(seen), asks: [] };
}

const seen = ({ layer, part, path, value }: Standing): LimitSeen => ({ layer, ...(part && { part }), path, max: Number(value) });

function hasCapacity(limit: Standing, charges: readonly Charge[], { at, windowSeconds, originSub }: Now): boolean {
  const step = Math.floor(at / 1000);
  const charged = charges.filter(
    (charge) => charge.id === limit.id && charge.originSub === originSub && step - charge.step <= windowSeconds,
  );
  return charged.length < Number(limit.value);
}

/** The time in ms until this limit allows a call if nothing else happens. Null: never. */
function retryAfterMs(limit: Standing, charges: readonly Charge[], now: Now): number | null {
  if (limit.value === 0) return null;
  let step = Math.floor(now.at / 1000);
  while (!hasCapacity(limit, charges, { ...now, at: step * 1000 })) step += 1;
  return step * 1000 - now.at;
}

// === What an entry records about the caller

export function entryOf(world: World, call: Call): EntrySeen {
  const hops = resolveHops(world, call);
  const subject = identify(world, call);
  const last = hops.at(-1);
  if (last === undefined) throw new Error('a call has at least one hop');
  const delegated = hops.length > 1;
  return {
    agentName: last.name,
    agentTier: last.tier,
    agentType: last.agentType,
    role: typeof subject === 'string' ? '' : subject.role,
    sub: delegated ? `agent:${last.profile?.id ?? last.agent}` : call.sub,
    depth: hops.length - 1,
    ...(delegated && { originSub: call.sub, chain: hops.map(({ name }) => name) }),
  };
}

/** The principal whose documents are read at each hop, root first. Empty where the caller is unknown. */
export interface Principal {
  readonly role: Role;
  readonly agentType: string;
  readonly tier: Tier;
  readonly uid: string | null;
  readonly facts: Facts;
}

export function principalsOf(world: World, call: Call): readonly Principal[] {
  const subject = identify(world, call);
  if (typeof subject === 'string') return [];
  return resolveHops(world, call).map((hop) => {
    const { agentType, tier } = hop;
    return { role: subject.role, agentType, tier, uid: subject.uid, facts: factsOf(subject, hop, call) };
  });
}
