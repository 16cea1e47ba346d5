// Policies and a call for each, for every endpoint to decide: documents of all layers, about a tool and similar names.
// Each policy has a theme, so that no class of decisions is rare. Names and limits are those that all endpoints can be
// asked about alike: a tool is `<server>.<METHOD>`, which is how the endpoint of HTTP tools names a request; a limit is
// large enough for every endpoint's call, or is zero.
import fc from 'fast-check';
import type { Document, Role, Rule, Tier, TierRules, UserDocument } from '../../semantics/world.ts';

/** The name of an MCP server and of an HTTP tool. Codex writes it in another form. */
export const server = 'tool-box';
export const methods = ['POST', 'GET', 'DELETE'] as const;
export type Method = (typeof methods)[number];

/** The names that each key pins. */
export const agent = 'worker';
export const client = 'doors';

/** The owner of the key; null: a service key, which the workspace's owner made. */
export interface Caller {
  readonly uid: string | null;
  readonly role: Role;
  readonly tier: Tier;
}

/** Members who write a part of their own: an admin writes the organisation's, also about themselves. */
const members: readonly Caller[] = [
  { uid: 'ann', role: 'member', tier: 'api' },
  { uid: 'ann', role: 'member', tier: 'interactive' },
  { uid: 'cid', role: 'member', tier: 'background' },
];
const people: readonly Caller[] = [...members, { uid: 'bob', role: 'admin', tier: 'api' }];
export const callers: readonly Caller[] = [...people, { uid: null, role: 'owner', tier: 'subagent' }];

export const agentTypeOf = ({ tier }: Caller): string => `${client}::${tier}::${agent}`;

/** The documents written for one call; null: none. */
interface Policy {
  readonly workspace: Document | null;
  readonly role: Document | null;
  readonly agentType: Document | null;
  readonly organisation: UserDocument | null;
  /** The member's own document, which may be refused. */
  readonly self: UserDocument | null;
}

export interface Case {
  readonly theme: Theme;
  readonly caller: Caller;
  readonly method: Method;
  readonly policy: Policy;
}

/** Probabilities in percent. */
interface Weights {
  /** That the document exists. */
  readonly there: number;
  readonly deny: number;
  readonly allow: number;
  readonly usedUp: number;
  readonly override: number;
  readonly audit: number;
}

const quiet: Weights = { there: 50, deny: 4, allow: 40, usedUp: 2, override: 4, audit: 8 };
const denying: Weights = { there: 100, deny: 96, allow: 2, usedUp: 5, override: 2, audit: 0 };
const overriding: Weights = { there: 100, deny: 3, allow: 96, usedUp: 0, override: 96, audit: 0 };
const auditing: Weights = { there: 80, deny: 50, allow: 20, usedUp: 15, override: 5, audit: 85 };
const full: Weights = { ...quiet, there: 70, usedUp: 50 };

type Layers = Readonly<Record<keyof Policy, Weights>>;
const all = (weights: Weights): Layers => ({
  workspace: weights,
  role: weights,
  agentType: weights,
  organisation: weights,
  self: weights,
});

const themes = {
  'the workspace denies': { ...all(quiet), workspace: denying },
  'the role denies': { ...all(quiet), role: denying },
  'the agent type denies': { ...all(quiet), agentType: denying },
  'the organisation denies the user': { ...all(quiet), organisation: denying },
  'the user denies': { ...all(quiet), self: denying },
  override: { ...all(quiet), workspace: denying, role: denying, agentType: overriding },
  audit: all(auditing),
  'used up': all(full),
  open: all(quiet),
} as const satisfies Readonly<Record<string, Layers>>;

type Theme = keyof typeof themes;

const callersOf = (theme: Theme): readonly Caller[] =>
  theme === 'the user denies' ? members : theme === 'the organisation denies the user' ? people : callers;

const chance = <T>(percent: number, value: T): fc.Arbitrary<T | undefined> =>
  fc.integer({ min: 0, max: 99 }).map((drawn) => (drawn < percent ? value : undefined));

/** Enough for the calls of all endpoints in all cases. */
const plenty = 2_000_000;

const ruleOf = ({ deny, allow, usedUp, override }: Weights): fc.Arbitrary<Rule> =>
  fc
    .record({
      permission: fc
        .integer({ min: 0, max: 99 })
        .map((drawn) => (drawn < deny ? ('deny' as const) : drawn < deny + allow ? ('allow' as const) : undefined)),
      rateLimit: fc.tuple(chance(usedUp, 0), chance(15, plenty)).map(([none, some]) => none ?? some),
      transform: fc.constantFrom(undefined, undefined, undefined, 'log' as const, 'redact' as const),
      override: chance(override, true as const),
    })
    .map((fields) => withoutAbsent<Rule>(fields));

const withoutAbsent = <T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T =>
  // The remaining entries are fields of T.
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;

const tiers: readonly Tier[] = ['interactive', 'subagent', 'background', 'api'];

/** The caller's tier, and other tiers that do not match it. */
const tierRulesOf = (tier: Tier, weights: Weights): fc.Arbitrary<TierRules> =>
  fc
    .tuple(ruleOf(weights), fc.dictionary(fc.constantFrom(...tiers), ruleOf(weights), { maxKeys: 2 }))
    .map(([rule, others]) => ({ ...others, [tier]: rule }));

interface Place {
  readonly section: 'tools' | 'defaults' | 'agentTypes';
  readonly key: string;
}

const inTools = (...keys: readonly string[]): readonly Place[] => keys.map((key) => ({ section: 'tools', key }));

/** Names that match the call. */
const speaking = (method: Method): readonly Place[] => [
  ...inTools(`${server}.${method}`, `${server}.*`, 'tool-*'),
  { section: 'defaults', key: '' },
];
/** Names that do not match: similar names, and names that look like wildcards. */
const silent = (method: Method): readonly Place[] =>
  inTools(...methods.filter((other) => other !== method).map((other) => `${server}.${other}`), 'ledger.*', 'tool*', '*', `${server}.P*`);

interface About {
  readonly caller: Caller;
  readonly method: Method;
}

function documentOf({ caller, method }: About, layer: keyof Policy, weights: Weights): fc.Arbitrary<UserDocument | null> {
  const own: readonly Place[] = layer === 'organisation' || layer === 'self' ? [{ section: 'agentTypes', key: agentTypeOf(caller) }] : [];
  const speaks = fc.constantFrom(...speaking(method), ...own);
  const others = fc.array(fc.constantFrom(...speaking(method), ...own, ...silent(method)), { maxLength: 3 });
  // Only the organisation may set `override`.
  const rules = tierRulesOf(caller.tier, layer === 'self' ? { ...weights, override: 0 } : weights);
  const placed = fc
    .tuple(speaks, others)
    .chain(([one, more]) => fc.tuple(...[...more, one].map((place) => rules.map((said) => [place, said] as const))));
  const mode = fc.integer({ min: 0, max: 99 }).chain((drawn) => (drawn < weights.audit ? auditModes : enforceModes));
  const document = fc.tuple(mode, placed).map(([spoken, sayings]) => documentFrom(spoken, sayings));
  return fc.integer({ min: 0, max: 99 }).chain((drawn) => (drawn < weights.there ? document : fc.constant(null)));
}

const auditModes = fc.constantFrom('audit' as const, 'audit-only' as const);
const enforceModes = fc.constantFrom(undefined, 'enforce' as const);

function documentFrom(mode: Document['mode'], sayings: readonly (readonly [Place, TierRules])[]): UserDocument {
  const section = (name: Place['section']): Readonly<Record<string, TierRules>> | undefined => {
    const own = sayings.filter(([place]) => place.section === name).map(([{ key }, rules]) => [key, rules] as const);
    return own.length === 0 ? undefined : Object.fromEntries(own);
  };
  return withoutAbsent<UserDocument>({
    mode,
    defaults: section('defaults')?.[''],
    tools: section('tools'),
    agentTypes: section('agentTypes'),
  });
}

const caseOf = (theme: Theme): fc.Arbitrary<Case> =>
  fc.record({ caller: fc.constantFrom(...callersOf(theme)), method: fc.constantFrom(...methods) }).chain((about) => {
    const weights = themes[theme];
    const ofUser = (layer: 'organisation' | 'self', among: readonly Caller[]): fc.Arbitrary<UserDocument | null> =>
      among.includes(about.caller) ? documentOf(about, layer, weights[layer]) : fc.constant(null);
    return fc.record({
      theme: fc.constant(theme),
      caller: fc.constant(about.caller),
      method: fc.constant(about.method),
      policy: fc.record({
        workspace: documentOf(about, 'workspace', weights.workspace),
        role: documentOf(about, 'role', weights.role),
        agentType: documentOf(about, 'agentType', weights.agentType),
        organisation: ofUser('organisation', people),
        self: ofUser('self', members),
      }),
    });
  });

// The keys of the literal above.
const themeNames = Object.keys(themes) as readonly Theme[];

/** Generates `count` cases, the themes in turn. */
export function generateCases(count: number, seed: number): readonly Case[] {
  const each = Math.ceil(count / themeNames.length);
  const byTheme = themeNames.map((theme, at) => fc.sample(caseOf(theme), { numRuns: each, seed: seed + at }));
  return Array.from({ length: each }, (_, at) => byTheme.flatMap((cases) => cases.slice(at, at + 1)))
    .flat()
    .slice(0, count);
}
