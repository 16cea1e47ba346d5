// Finds the changes that would make a denied call allowed. First, all obstacles outside of policy must be removed. Then
// either every denial in effect must be changed, or an explicit exception must be set at the most specific place.
import type { CompiledAgent, DocumentId, Layer, Part, Tier } from '@tollgate/proto/contract';
import { bounds, documentKey, namesTool, rulePath } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { IndexedDocument, Opinion, Sayings } from './document.ts';
import { agentsOf, type ExplainedChain, hopsOf } from './explain-chain.ts';
import type { Fold } from './fold.ts';

export interface Change {
  /** The layer to change. `agent`: the profile of an agent of the chain, which is not a layer. */
  readonly layer: Layer | 'agent';
  readonly part?: Part;
  /** The document to change, or the name of the profile. */
  readonly document: string;
  readonly path: string;
  /** The change in words, to be read after the path. */
  readonly change: string;
}

/** A layer that can apply to the caller. */
export interface Speaker {
  readonly id: DocumentId;
  /** Null: the document is not set. */
  readonly document: IndexedDocument | null;
  /** Null: the document says nothing about the call. */
  readonly opinion: Opinion | null;
  readonly sayings: Sayings | null;
}

interface ExplainedCall {
  readonly tier: Tier;
  readonly tool: string;
}

/**
 * Returns the changes that remove everything that would deny the call even if its permission were `allow`. Null: no change
 * of the policy allows such a chain.
 */
export function obstaclesOf(
  index: Index,
  { chain, enforced }: { readonly chain: ExplainedChain; readonly enforced: Fold },
  tool: string,
): readonly Change[] | null {
  const delegating = delegationChanges(chain);
  if (delegating === null) return null;
  const required = index.requiredScopes.get(tool) ?? [];
  const ofWorkspace = (path: string, change: string): Change => ({ layer: 'workspace', document: 'workspace', path, change });
  const agents = agentsOf(chain);
  const unknown = agents.filter(({ profiles }) => profiles.length === 0).map(({ hop }) => hop.name);
  const frozen = index.settings.frozen ? [ofWorkspace('frozen', 'unfreeze the workspace')] : [];
  const unregistered =
    unknown.length > 0 && index.settings.unknownAgents === 'deny' ? [ofWorkspace('unknownAgents', allowUnknown(unknown))] : [];
  const ofAgents = agents.flatMap(({ profiles, hop }) =>
    leastOf(
      // Of an agent above, a call names one profile.
      (hop === chain.calling.hop ? profiles : profiles.filter((one) => one === hop.profile)).map((profile) =>
        profileChanges(profile, tool, required),
      ),
    ),
  );
  const scopeless =
    required.length === 0
      ? []
      : unknown.map((name) => ({
          layer: 'agent' as const,
          document: name,
          path: 'scopes',
          change: `register the agent with ${required.join(', ')}`,
        }));
  const closed = enforced.limits
    .filter(({ max }) => max === 0)
    .map(({ id, layer, part, path }): Change => {
      const document = id.slice(0, id.length - path.length - 1);
      return { layer, ...(part === undefined ? {} : { part }), document, path, change: noneAllowed };
    });
  return [...frozen, ...unregistered, ...ofAgents, ...delegating, ...scopeless, ...closed];
}

/** An agent without a name cannot be registered. */
function allowUnknown(names: readonly string[]): string {
  if (names.includes('')) return 'set "allow"';
  const [only, ...others] = new Set(names);
  if (others.length === 0) return `set "allow", or register an agent ${JSON.stringify(only)}`;
  return `set "allow", or register agents ${[only, ...others].map((name) => JSON.stringify(name)).join(', ')}`;
}

const ofProfile = ({ name }: CompiledAgent, path: string, change: string): Change => ({ layer: 'agent', document: name, path, change });

function profileChanges(profile: CompiledAgent, tool: string, required: readonly string[]): readonly Change[] {
  const missing = required.filter((scope) => !profile.scopes.includes(scope));
  return [
    ...(profile.suspended ? [ofProfile(profile, 'suspended', 'set false')] : []),
    ...(namesTool(profile.enabledTools, tool) ? [] : [ofProfile(profile, 'enabledTools', `add ${JSON.stringify(tool)}`)]),
    ...(missing.length === 0 ? [] : [ofProfile(profile, 'scopes', `add ${missing.join(', ')}`)]),
  ];
}

/** Returns the changes of profiles that permit the chain. Null: it is too deep, or has an agent twice. */
function delegationChanges(chain: ExplainedChain): readonly Change[] | null {
  const profiles = hopsOf(chain).map(({ profile }) => profile);
  const depth = profiles.length - 1;
  const known = profiles.flatMap((profile) => profile?.id ?? []);
  if (depth > bounds.delegationDepth || new Set(known).size < known.length) return null;
  return profiles.flatMap((profile, at) => {
    if (profile === null) return [];
    const below = depth - at;
    const { delegatable, canDelegate, maxDelegationDepth } = profile;
    return [
      ...(at > 0 && !delegatable ? [ofProfile(profile, 'delegatable', 'set true')] : []),
      ...(below > 0 && !canDelegate ? [ofProfile(profile, 'canDelegate', 'set true')] : []),
      ...(maxDelegationDepth !== null && below > maxDelegationDepth
        ? [ofProfile(profile, 'maxDelegationDepth', `set ${below} or more`)]
        : []),
    ];
  });
}

/**
 * Joins the ways of several hops, each of which has at least one. All hops take their first way, or all take their last. A
 * place that two hops have to change is changed once: by an exception, if one of them needs it.
 */
export function joinWays(ofHops: readonly (readonly (readonly Change[])[])[]): readonly (readonly Change[])[] {
  const isSingle = ofHops.every((ways) => ways.length === 1);
  const joined = [ofHops.flatMap((ways) => ways[0] ?? []), ...(isSingle ? [] : [ofHops.flatMap((ways) => ways.at(-1) ?? [])])];
  return joined.map((changes) => {
    const byPlace = new Map<string, Change>();
    for (const change of changes) {
      const place = `${change.document} ${change.path}`;
      const held = byPlace.get(place);
      if (held === undefined || (change.change.includes('override') && !held.change.includes('override'))) byPlace.set(place, change);
    }
    return [...byPlace.values()];
  });
}

const leastOf = (ways: readonly (readonly Change[])[]): readonly Change[] => ways.toSorted((a, b) => a.length - b.length)[0] ?? [];

/** Returns the ways to allow a call that policy denies or asks for. Each is a list of changes to make together. */
export function waysToAllow(index: Index, speakers: readonly Speaker[], { tier, tool }: ExplainedCall): readonly (readonly Change[])[] {
  const holding = holdingSpeakers(speakers);
  const denials = holding.flatMap(denialsOf);
  const organisation = holding.filter(({ id }) => partOf(id) !== 'self');
  // A layer whose cases are undecided counts as far as it says the same in every way.
  const granted = organisation.some(({ opinion }) => opinion?.permission.every(({ length }) => length > 0) === true);
  const needsGrant = index.settings.defaultPermission === 'deny' && !granted;
  const path = rulePath('tools', tool, tier);
  const writable = speakers.filter(({ id }) => partOf(id) !== 'self');
  const open = writable.filter(({ document }) => document?.enforces !== false);
  const [broadest] = open;
  const grant =
    needsGrant && broadest !== undefined
      ? [changeAt(broadest.id, path, 'set permission "allow": the built-in default denies every call that no layer grants')]
      : [];
  const undoing = [...denials, ...grant];
  // A member's own denial stays in force, whatever exceptions exist.
  if (!needsGrant && denials.every(({ part }) => part === 'self')) return [undoing];
  const specific = open.at(-1) ?? writable.at(-1);
  if (specific === undefined) return [undoing];
  const exception = [
    ...(specific.document?.enforces === false ? [changeAt(specific.id, 'mode', 'set "enforce"'), ...closedBy(specific)] : []),
    // These stay in force with the rule that is set: rules by agent type, and cases of the rule itself.
    ...denialsOf(specific).filter((change) => change.path.startsWith('agentTypes') || change.path.startsWith(`${path}.cases[`)),
    ...holding.filter((speaker) => speakers.indexOf(speaker) > speakers.indexOf(specific)).flatMap(denialsOf),
    changeAt(specific.id, path, 'set {"permission": "allow", "override": true}: an exception, by an owner or admin'),
  ];
  return open.length === 0 ? [exception] : [undoing, exception];
}

const noneAllowed = 'set a rateLimit above 0, because 0 allows no call';

const closedBy = ({ id, opinion }: Speaker): readonly Change[] =>
  (opinion?.limits ?? []).filter(({ value }) => value === 0).map(({ path }) => changeAt(id, path, noneAllowed));

/**
 * Returns the enforcing layers whose permission counts: the last layer that overrides, whichever of its cases hold, and
 * all layers after it. If no layer overrides, all count.
 */
function holdingSpeakers(speakers: readonly Speaker[]): readonly Speaker[] {
  const enforcing = speakers.filter(({ document }) => document?.enforces === true);
  const last = enforcing.findLastIndex(
    ({ id, opinion }) => partOf(id) !== 'self' && opinion?.permission.every((way) => way.some(({ override }) => override)) === true,
  );
  return enforcing.slice(Math.max(0, last));
}

// The change sets an allow instead of removing the denial, or the question to a person. If it were only removed, another
// could apply, for example that of a wildcard or of a broader layer.
const denialsOf = ({ id, sayings }: Speaker): readonly Change[] => {
  const denials = (sayings?.permission ?? []).filter(({ value }) => value !== 'allow');
  // A rule may say the same whichever of its cases holds.
  return [...new Set(denials.map(({ path }) => path))].map((path) => changeAt(id, path, 'set permission "allow"'));
};

export const partOf = (id: DocumentId): Part | null => (id.layer === 'user' ? id.part : null);

function changeAt(id: DocumentId, path: string, change: string): Change {
  const part = partOf(id);
  return { layer: id.layer, ...(part === null ? {} : { part }), document: documentKey(id), path, change };
}
