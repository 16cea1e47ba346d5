// Does the part of steps 0 to 3 of a decision that does not depend on the tool. It finds who calls and through which
// agents, and checks whether all calls of this caller are denied. The work is done once for each claim and snapshot.
import {
  agentTypeKey,
  type CompiledKey,
  type DocumentId,
  documentKey,
  hasScope,
  isTier,
  nameProblem,
  parts,
  roles,
  tiers,
} from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import type { Index } from './build-index.ts';
import type { Claim, Hop, Subject } from './call.ts';
import type { BoundHop, Caller } from './caller.ts';
import { profilesNamed, registrationRefusal, scopesOf } from './chain.ts';
import type { Decision } from './decision.ts';
import type { IndexedDocument } from './document.ts';
import { forgetPlans } from './plan.ts';
import { refuse } from './refusal.ts';

// The memory for callers is bounded, because callers choose the names that they claim. Both values are in bytes.
// `callerBytes` is an estimate of what V8 uses for one caller.
const callersBytesMax = 8 * 1024 ** 2;
const callerBytes = 1_500;
/** The cached callers of each snapshot. Null: the snapshot was replaced, and none of its callers is cached. */
const callersOf = new WeakMap<Index, LRUCache<string, Caller> | null>();

/** Hashes of claims that were bound recently. The low bits of a hash determine its place. */
const boundLately = new Uint32Array(4_096);

/**
 * Returns the caller of a claim under this snapshot. From the second time that a claim occurs, its caller is cached,
 * and equal claims share one `Caller` object until the cache evicts it. Claims that occur only once are not cached,
 * because their names would fill the memory and make garbage collection expensive.
 */
export function bindCaller(index: Index, claim: Claim): Caller {
  const remembered = callersOf.get(index);
  if (remembered === null) return bind(index, claim);
  const callers =
    remembered ??
    new LRUCache<string, Caller>({
      maxSize: callersBytesMax,
      sizeCalculation: (_, cacheKey) => callerBytes + 8 * cacheKey.length,
    });
  callersOf.set(index, callers);
  const cacheKey = JSON.stringify(claim);
  const known = callers.get(cacheKey);
  if (known !== undefined) return known;
  const caller = bind(index, claim);
  if (wasBoundLately(cacheKey)) {
    caller.isKept = true;
    callers.set(cacheKey, caller);
  }
  return caller;
}

function wasBoundLately(cacheKey: string): boolean {
  // FNV-1a. If the hashes of two claims collide, the only effect is that a caller is cached earlier or later than
  // otherwise.
  let hash = 0x811c9dc5;
  for (let at = 0; at < cacheKey.length; at += 1) hash = Math.imul(hash ^ cacheKey.charCodeAt(at), 0x01000193);
  hash >>>= 0;
  const place = hash % boundLately.length;
  const was = boundLately[place] === hash;
  boundLately[place] = hash;
  return was;
}

/**
 * Call this when another snapshot has replaced this one. Runs and pending requests may keep a caller of the old
 * snapshot for a long time. That caller refers to the old snapshot, and with the snapshot all its cached callers would
 * stay in memory. Therefore no caller of the old snapshot is cached from now on. A decision that still uses the old
 * snapshot is computed each time.
 */
export function forgetCallers(index: Index): void {
  callersOf.set(index, null);
  forgetPlans(index);
}

function bind(index: Index, claim: Claim): Caller {
  const key = index.keysById.get(claim.identity.keyId) ?? null;
  const subject = key === null ? null : subjectOf(index, key, claim.identity.sub);
  const hops = applyKeyPins(claim.hops, key).map((hop) => bindHop(index, hop, subject));
  const last = hops.at(-1);
  if (last === undefined) throw new RangeError('a claim must contain at least one hop, the hop of the calling agent');
  return {
    index,
    claim,
    key,
    subject,
    hops,
    profile: last.profile,
    tier: last.tier,
    scopes: scopesOf(hops),
    deniedInOutage: hops.find(({ tier }) => index.settings.outage.then[tier] === 'deny')?.tier ?? null,
    halted: haltOf(index, hops),
    refused: identityRefusal(index, claim, key, subject) ?? registrationRefusal(index, hops),
    isKept: false,
    plans: new Map(),
  };
}

/**
 * Applies the pins of a key. A pin fixes a value that the holder of the key would otherwise claim about the calling
 * agent.
 */
function applyKeyPins(hops: readonly Hop[], key: CompiledKey | null): readonly Hop[] {
  if (key === null) return hops;
  const { tier, agent, client } = key.pins;
  return hops.map((hop, at) =>
    at < hops.length - 1 ? hop : { ...hop, tier: tier ?? hop.tier, agent: agent ?? hop.agent, client: client ?? hop.client },
  );
}

function bindHop(index: Index, hop: Hop, subject: Subject | null): BoundHop {
  const named = profilesNamed(index, hop.agent);
  const profile = (named.length === 1 ? named[0] : undefined) ?? null;
  const name = profile?.name ?? hop.agent;
  const agentType = agentTypeKey({ client: hop.client, tier: hop.tier, name });
  return { hop, name, profile, agentType, tier: hop.tier, documents: subject === null ? [] : documentsFor(index, subject, agentType) };
}

/**
 * Returns the ids of all documents that can apply to a subject, whether they are set or not, from broad to specific.
 */
export function documentIdsFor({ role, uid }: Pick<Subject, 'role' | 'uid'>, agentType: string): readonly DocumentId[] {
  return [
    { layer: 'workspace' },
    { layer: 'role', role },
    { layer: 'agent-type', agentType },
    ...(uid === null ? [] : parts.map((part) => ({ layer: 'user', uid, part }) as const)),
  ];
}

/** Returns the documents of `documentIdsFor` that are set. */
export const documentsFor = (
  { documents }: { readonly documents: Pick<Index['documents'], 'get'> },
  subject: Pick<Subject, 'role' | 'uid'>,
  agentType: string,
): readonly IndexedDocument[] => documentIdsFor(subject, agentType).flatMap((id) => documents.get(documentKey(id)) ?? []);

/** Returns the member that a claim names, or the service key itself. Null: there is no such member. */
function subjectOf(index: Index, key: CompiledKey, sub: string): Subject | null {
  if (key.uid === null && sub === `apikey:${key.id}`) return { sub, uid: null, role: key.role, email: '' };
  const member = index.members.get(sub);
  return member === undefined ? null : { sub, uid: sub, role: member.role, email: member.email };
}

/**
 * Step 0: returns the denial if the workspace is frozen or an agent of the chain is suspended. Otherwise returns null.
 */
export function haltOf(index: Index, hops: readonly BoundHop[]): Decision | null {
  if (index.settings.frozen)
    return refuse('workspace_frozen', 'the workspace is frozen: every call is denied until an owner or admin unfreezes it');
  const suspended = hops.find(({ profile }) => profile?.suspended === true);
  return suspended === undefined ? null : refuse('agent_suspended', `agent ${JSON.stringify(suspended.name)} is suspended`);
}

function identityRefusal(index: Index, { identity, hops }: Claim, key: CompiledKey | null, subject: Subject | null): Decision | null {
  const malformed = hops.map(hopProblem).find((words) => words !== null);
  if (malformed != null) return refuse('call_malformed', malformed);
  if (key === null) return refuse('key_revoked', 'the key was revoked, or the member of the key was removed');
  if (!hasScope(key.scopes, 'govern')) return refuse('key_scope', 'the key lacks the scope "govern"');
  if (subject === null)
    return refuse('identity_unknown', `${JSON.stringify(identity.sub)} is not a member of workspace "${index.settings.workspace}"`);
  const own = key.uid ?? `apikey:${key.id}`;
  if (identity.sub === own) return null;
  if (!hasScope(key.scopes, 'govern.impersonate'))
    return refuse('key_scope', 'the key lacks the scope "govern.impersonate", which is required to name another user');
  // A caller must not gain rights by naming another user. So the role of that user must not be above the role of the
  // key.
  if (roles.indexOf(subject.role) < roles.indexOf(key.role))
    return refuse(
      'key_scope',
      `${JSON.stringify(identity.sub)} has the role ${subject.role}, but the key may only name members up to the role ${key.role}`,
    );
  return null;
}

function hopProblem({ agent, client, tier }: Hop): string | null {
  // The check is needed at run time: callers of the library may use JavaScript.
  if (!isTier(tier)) return `tier must be ${tiers.join(', ')}`;
  const ofAgent = agent === '' ? null : nameProblem(agent);
  if (ofAgent !== null) return `agent name ${ofAgent}`;
  const ofClient = nameProblem(client);
  if (ofClient !== null) return `client name ${ofClient}`;
  return client.includes('::') ? 'client name must not hold "::"' : null;
}
