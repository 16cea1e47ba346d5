// Finds the changes that would make a denied call allowed. First, all obstacles outside of policy must be removed. Then
// either every denial in effect must be changed, or an explicit exception must be set at the most specific place.
import type { CompiledAgent, DocumentId, Layer, Part, Tier } from '@tollgate/proto/contract';
import { documentKey, namesTool, rulePath } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { IndexedDocument, Opinion, Sayings } from './document.ts';
import type { Fold } from './fold.ts';

export interface Change {
  /** The layer to change. `agent`: the profile of the calling agent, which is not a layer. */
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
 * Returns the changes that remove everything that would deny the call even if its permission were `allow`. `profiles`:
 * all profiles with the agent's name.
 */
export function obstaclesOf(
  index: Index,
  { name, profiles, enforced }: { readonly name: string; readonly profiles: readonly CompiledAgent[]; readonly enforced: Fold },
  { tool }: ExplainedCall,
): readonly Change[] {
  const required = index.requiredScopes.get(tool) ?? [];
  const ofWorkspace = (path: string, change: string): Change => ({ layer: 'workspace', document: 'workspace', path, change });
  const frozen = index.settings.frozen ? [ofWorkspace('frozen', 'unfreeze the workspace')] : [];
  const ofAgent =
    profiles.length === 0 && index.settings.unknownAgents === 'deny'
      ? // An agent without a name cannot be registered.
        [ofWorkspace('unknownAgents', name === '' ? 'set "allow"' : `set "allow", or register an agent ${JSON.stringify(name)}`)]
      : leastOf(
          profiles.map((profile) => {
            const change = (path: string, words: string): Change => ({ layer: 'agent', document: profile.name, path, change: words });
            const missing = required.filter((scope) => !profile.scopes.includes(scope));
            return [
              ...(profile.suspended ? [change('suspended', 'set false')] : []),
              ...(namesTool(profile.enabledTools, tool) ? [] : [change('enabledTools', `add ${JSON.stringify(tool)}`)]),
              ...(missing.length === 0 ? [] : [change('scopes', `add ${missing.join(', ')}`)]),
            ];
          }),
        );
  const scopeless =
    profiles.length === 0 && required.length > 0
      ? [{ layer: 'agent' as const, document: name, path: 'scopes', change: `register the agent with ${required.join(', ')}` }]
      : [];
  const closed = enforced.limits
    .filter(({ max }) => max === 0)
    .map(({ id, layer, part, path }): Change => {
      const document = id.slice(0, id.length - path.length - 1);
      return { layer, ...(part === undefined ? {} : { part }), document, path, change: noneAllowed };
    });
  return [...frozen, ...ofAgent, ...scopeless, ...closed];
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
