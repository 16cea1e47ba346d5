// Reads the recorded call from an entry of the audit log, to decide or count it again. An entry is read as far as
// possible. The call is marked as approximate if a part of it is not certain. Examples: the entry does not name every
// hop of the chain in full, or a text that names the caller is longer than any sidecar accepts. All lengths are
// limited, because calls are cached and a sidecar can write anything.
import { isReasonCode, isRole, isTier, ownText, parseAgentType, type ReasonCode, type Tier } from '@tollgate/proto/contract';
import type { PolicySource, ReplayedCaller, ReplayedHop } from '@tollgate/sidecar/engine/compile';
import { isObject } from '@tollgate/proto/shape';
import { type RecordedFacts, recordedFacts } from './recorded-input.ts';

/** A `PreToolUse` entry as the store reads it. */
export interface ReplayedEntry {
  /** The id that the API shows. */
  readonly id: string;
  readonly ts: Date;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly agentName: string;
  readonly sub: string;
  /** The other fields. The input is among them only if it was read. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ReplayedCall {
  readonly id: string;
  readonly at: number;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly reason: string;
  readonly agent: string;
  readonly tier: Tier;
  /** The subject as in the entry: `agent:<id>` for a delegated call. */
  readonly sub: string;
  readonly code: ReasonCode | null;
  /** Whether policy asked a person about the call, whatever the answer was. */
  readonly wasAsked: boolean;
  /** Null if the entry does not name the caller. */
  readonly caller: ReplayedCaller | null;
  /** Whether a part of the call was guessed. */
  readonly approximate: boolean;
  readonly policyAgeMs: number;
  readonly outage: boolean;
  /** What conditions read of the call. Null: no rule has cases, so the input was not read. */
  readonly facts: RecordedFacts | null;
}

/** The present agents, roles and keys. They replace information that an entry lacks. */
export interface KnownCallers {
  readonly agentNames: ReadonlySet<string>;
  readonly roles: ReadonlyMap<string, ReplayedCaller['role']>;
  /** Keys that pin the tier of their callers. */
  readonly pinningKeys: ReadonlySet<string>;
}

export const knownFrom = ({ agents, members, keys }: Pick<PolicySource, 'agents' | 'members' | 'keys'>): KnownCallers => ({
  agentNames: new Set(agents.map(({ name }) => name)),
  roles: new Map([
    ...members.map(({ uid, role }) => [uid, role] as const),
    ...keys.flatMap(({ id, uid, role }) => (uid === null ? [[`apikey:${id}`, role] as const] : [])),
  ]),
  pinningKeys: new Set(keys.flatMap(({ id, pins }) => (pins.tier === null ? [] : [id]))),
});

/** `readsInput`: the entry was read with its input. */
export function replayedCall(entry: ReplayedEntry, known: KnownCallers, readsInput = false): ReplayedCall {
  const { id, ts, tool, decision, agentName, sub, fields } = entry;
  const code = textOf(fields['code']);
  const { caller, approximate } = callerOf(entry, known);
  return {
    id,
    at: ts.getTime(),
    tool,
    decision,
    reason: textOf(fields['decisionReason']),
    agent: agentName,
    tier: tierOf(fields),
    sub,
    code: isReasonCode(code) ? code : decision === 'allow' ? 'allowed' : null,
    wasAsked: isObject(fields['approval']) || code.startsWith('approval'),
    caller,
    // With these two codes, the call was decided before the later checks. The entry does not contain their results.
    approximate: approximate || code === 'agent_unknown' || code === 'outage',
    policyAgeMs: typeof fields['policyAgeMs'] === 'number' ? fields['policyAgeMs'] : 0,
    outage: fields['outage'] === true,
    facts: readsInput ? recordedFacts(fields, ts.getTime()) : null,
  };
}

/** Maximum length of each text, and of the chain above the caller. */
const max = { characters: 512, hops: 64 } as const;

function textOf(value: unknown): string {
  if (typeof value !== 'string' || value.length <= max.characters) return typeof value === 'string' ? value : '';
  // The cut does not split a surrogate pair. `ownText` keeps no reference to the whole text.
  return ownText(value.slice(0, max.characters).replace(/[\uD800-\uDBFF]$/, ''));
}

const isLong = (value: unknown): boolean => typeof value === 'string' && value.length > max.characters;

const tierOf = (fields: ReplayedEntry['fields']): Tier => (isTier(fields['agentTier']) ? fields['agentTier'] : 'api');

interface Found {
  readonly caller: ReplayedCaller | null;
  readonly approximate: boolean;
}

function callerOf({ sub, agentName, fields }: ReplayedEntry, known: KnownCallers): Found {
  const origin = textOf(fields['originSub']) || sub;
  const role = isRole(fields['role']) ? fields['role'] : known.roles.get(origin);
  // The role or the origin of the caller is unknown, for example for a delegated call without `originSub`. There is no
  // subject whose documents could be read.
  if (role === undefined || origin === '' || (origin === sub && sub.startsWith('agent:'))) return { caller: null, approximate: true };
  const tier = tierOf(fields);
  const keyId = textOf(fields['keyId']);
  const id = textOf(fields['agentId']);
  const type = parseAgentType(textOf(fields['agentType']));
  const client = isObject(fields['client']) ? textOf(fields['client']['name']) : '';
  const chain = chainOf(fields);
  const cut = [fields['originSub'], fields['keyId'], fields['agentType'], Object(fields['client']).name, ...chain].some(isLong);
  const last: ReplayedHop = {
    client: type?.client ?? client,
    tier,
    name: type?.name ?? agentName,
    registered: id !== '',
    ...(id === '' ? {} : { id }),
  };
  const ancestors = chain.slice(0, max.hops).map(
    (name): ReplayedHop => ({
      client: chainClient(fields, client, last),
      tier,
      name: textOf(name),
      registered: known.agentNames.has(name),
    }),
  );
  // A claimed chain has one client and one tier. For an observed chain, an entry names only the client and the tier of
  // the last hop.
  const certain = type !== null && type.tier === tier && isRole(fields['role']);
  const told = ancestors.length === 0 || (fields['chainClaimed'] === true && !known.pinningKeys.has(keyId));
  return {
    caller: { sub: origin, keyId, role, hops: [...ancestors, last] },
    approximate: !certain || !told || cut || chain.length > max.hops || chain.length !== depthOf(fields),
  };
}

/** Returns the names of the hops above the caller. */
function chainOf(fields: ReplayedEntry['fields']): readonly string[] {
  const chain = fields['chain'];
  return Array.isArray(chain) ? chain.slice(0, -1).filter((name) => typeof name === 'string') : [];
}

/**
 * Returns the client of the hops above the caller. In a claimed chain, it is the client that was claimed for all hops.
 * Agents of a library have the client of their root.
 */
const chainClient = (fields: ReplayedEntry['fields'], client: string, last: ReplayedHop): string =>
  fields['chainClaimed'] === true ? client : last.client;

const depthOf = (fields: ReplayedEntry['fields']): number => (typeof fields['depth'] === 'number' ? fields['depth'] : 0);
