// Changes to worlds, which the property tests make.
import type { Principal } from './reference.ts';
import { principalsOf } from './reference.ts';
import { wildcardMatches } from './reference-fold.ts';
import type { Call, Document, Role, Rule, Tier, TierRules, UserDocument, WorkspaceDocument, World } from './world.ts';

/** The place of a document. */
export type Place =
  | { readonly layer: 'workspace' }
  | { readonly layer: 'role'; readonly role: Role }
  | { readonly layer: 'agent-type'; readonly agentType: string }
  | { readonly layer: 'user'; readonly uid: string; readonly part: 'organisation' | 'self' };

export function readDocument(world: World, place: Place): UserDocument | null {
  switch (place.layer) {
    case 'workspace':
      return world.workspace;
    case 'role':
      return world.roles.find(([role]) => role === place.role)?.[1] ?? null;
    case 'agent-type':
      return world.agentTypes.find(([type]) => type === place.agentType)?.[1] ?? null;
    case 'user':
      return world.users.find(({ uid }) => uid === place.uid)?.[place.part] ?? null;
  }
}

/** Null removes the rules of the document. The workspace's settings stay, because they are not rules. */
export function writeDocument(world: World, place: Place, document: UserDocument | null): World {
  const set = <K>(pairs: readonly (readonly [K, Document])[], key: K): (readonly [K, Document])[] => [
    ...pairs.filter(([other]) => other !== key),
    ...(document === null ? [] : [[key, document] as const]),
  ];
  switch (place.layer) {
    case 'workspace':
      return { ...world, workspace: { ...document, ...settingsOf(world.workspace) } };
    case 'role':
      return { ...world, roles: set(world.roles, place.role) };
    case 'agent-type':
      return { ...world, agentTypes: set(world.agentTypes, place.agentType) };
    case 'user': {
      const user = world.users.find(({ uid }) => uid === place.uid) ?? { uid: place.uid, organisation: null, self: null };
      return { ...world, users: [...world.users.filter(({ uid }) => uid !== place.uid), { ...user, [place.part]: document }] };
    }
  }
}

const settingsOf = (document: WorkspaceDocument | null): WorkspaceDocument => ({
  ...(document?.unknownAgents && { unknownAgents: document.unknownAgents }),
  ...(document?.outage && { outage: document.outage }),
});

const placesFor = ({ role, agentType, uid }: Principal): readonly Place[] => [
  { layer: 'workspace' },
  { layer: 'role', role },
  { layer: 'agent-type', agentType },
  ...(uid === null ? [] : (['organisation', 'self'] as const).map((part) => ({ layer: 'user', uid, part }) as const)),
];

/** The places that can affect any hop of a call. The places of each hop are ordered from broad to specific. */
export const placesOf = (world: World, call: Call): readonly (readonly Place[])[] => principalsOf(world, call).map(placesFor);

const allPlaces = (world: World): readonly Place[] => [
  ...(world.workspace === null ? [] : [{ layer: 'workspace' } as const]),
  ...world.roles.map(([role]) => ({ layer: 'role', role }) as const),
  ...world.agentTypes.map(([agentType]) => ({ layer: 'agent-type', agentType }) as const),
  ...world.users.flatMap((user) =>
    (['organisation', 'self'] as const).flatMap((part) => (user[part] === null ? [] : [{ layer: 'user', uid: user.uid, part } as const])),
  ),
];

/** Returns a copy without these fields. */
export function without<T extends object, K extends keyof T>(value: T, ...fields: readonly K[]): Omit<T, K> {
  const left = Object.entries(value).filter(([field]) => !(fields as readonly PropertyKey[]).includes(field));
  // The remaining fields are those of T without `fields`.
  return Object.fromEntries(left) as Omit<T, K>;
}

// === Documents

type Section = 'defaults' | 'tools' | 'agentTypes';

/** Returns what one rule becomes. Null removes it. The key is null in `defaults`. */
type RuleChange = (rule: Rule, at: { readonly section: Section; readonly key: string | null; readonly tier: string }) => Rule | null;

export function mapRules(document: UserDocument, change: RuleChange): UserDocument {
  const ofTiers = (section: Section, key: string | null, rules: TierRules): TierRules =>
    Object.fromEntries(
      Object.entries(rules).flatMap(([tier, rule]) => {
        const changed = change(rule, { section, key, tier });
        return changed === null ? [] : [[tier, changed]];
      }),
    );
  const ofPlaces = (section: Section, places: Readonly<Record<string, TierRules>>): Record<string, TierRules> =>
    Object.fromEntries(Object.entries(places).map(([key, rules]) => [key, ofTiers(section, key, rules)]));
  return {
    ...document,
    ...(document.defaults && { defaults: ofTiers('defaults', null, document.defaults) }),
    ...(document.tools && { tools: ofPlaces('tools', document.tools) }),
    ...(document.agentTypes && { agentTypes: ofPlaces('agentTypes', document.agentTypes) }),
  };
}

export function mapDocuments(world: World, change: (document: UserDocument) => UserDocument): World {
  return allPlaces(world).reduce((changed, place) => {
    const document = readDocument(changed, place);
    return document === null ? changed : writeDocument(changed, place, change(document));
  }, world);
}

export const withoutOverride = (document: UserDocument): UserDocument => mapRules(document, (rule) => without(rule, 'override'));

/** Returns the document with this rule for exactly this tool and tier. */
export function withToolRule(document: UserDocument, tool: string, tier: Tier, rule: Rule): UserDocument {
  const tools = new Map(Object.entries(document.tools ?? {}));
  tools.set(tool, { ...tools.get(tool), [tier]: rule });
  return { ...document, tools: Object.fromEntries(tools) };
}

/** Returns the world without anything about another tool, tier, type, role or user than those of the call. */
export function onlyFor(world: World, call: Call): World {
  const principals = principalsOf(world, call);
  const places = principals.flatMap(placesFor);
  const same = (a: Place, b: Place): boolean => JSON.stringify(a) === JSON.stringify(b);
  const gone = allPlaces(world).filter((place) => !places.some((other) => same(place, other)));
  const kept = gone.reduce((rest, place) => writeDocument(rest, place, null), world);
  return mapDocuments(kept, (document) =>
    mapRules(document, (rule, { section, key, tier }) => {
      const concerned = principals.filter((principal) => principal.tier === tier);
      if (section === 'tools' && key !== null && key !== call.tool && !wildcardMatches(key, call.tool)) return null;
      if (section === 'agentTypes' && !concerned.some(({ agentType }) => agentType === key)) return null;
      return concerned.length > 0 ? rule : null;
    }),
  );
}

/** Returns the same world with everything whose order is free in the opposite order. */
export function reversed(world: World): World {
  const reverseKeys = <T>(record: Readonly<Record<string, T>>): Record<string, T> => Object.fromEntries(Object.entries(record).reverse());
  const reverseDocument = (document: UserDocument): UserDocument =>
    reverseKeys({
      ...document,
      ...(document.defaults && { defaults: reverseKeys(document.defaults) }),
      ...(document.tools && { tools: reverseKeys(document.tools) }),
      ...(document.agentTypes && { agentTypes: reverseKeys(document.agentTypes) }),
    });
  const changed = mapDocuments(world, reverseDocument);
  return {
    ...changed,
    roles: changed.roles.toReversed(),
    agentTypes: changed.agentTypes.toReversed(),
    users: changed.users.toReversed(),
    agents: changed.agents.toReversed(),
    members: changed.members.toReversed(),
    keys: changed.keys.toReversed(),
    servers: changed.servers.toReversed(),
  };
}
