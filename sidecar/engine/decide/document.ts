// Indexes one document. A few lookups find what it says about a tool and a tier, even if it has many rules.
import {
  type CompiledDocument,
  documentKey,
  type Layer,
  type Part,
  type Rule,
  rulePath,
  type Tier,
  type TierRules,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import { type SpelledNames, spelledNames } from './spelled-names.ts';

export interface IndexedDocument {
  readonly key: string;
  readonly layer: Layer;
  readonly part: Part | null;
  readonly enforces: boolean;
  readonly defaults: PlacedRules;
  readonly exact: ReadonlyMap<string, PlacedRules>;
  /** Rules of wildcards, by the prefix without the `*`. */
  readonly wildcards: ReadonlyMap<string, PlacedRules>;
  readonly agentTypes: ReadonlyMap<string, PlacedRules>;
  /** The keys of `tools`. They are found by the spellings that hosts may use. */
  readonly spelled: SpelledNames;
}

type PlacedRules = ReadonlyMap<Tier, PlacedRule>;

interface PlacedRule {
  readonly rule: Rule;
  readonly path: string;
}

/** One field as a document sets it, with its path in the document. */
export interface Saying<T> {
  readonly value: T;
  readonly path: string;
  readonly override: boolean;
}

/**
 * What a document says about a call. Each field has at most one saying. Only in a user document a field may have two:
 * the second comes from `agentTypes`.
 */
export interface Opinion {
  readonly permission: readonly Saying<'allow' | 'deny'>[];
  readonly rateLimit: readonly Saying<number>[];
  readonly transform: readonly Saying<'log' | 'redact'>[];
}

export function indexDocument(document: CompiledDocument): IndexedDocument {
  const exact = new Map<string, PlacedRules>();
  const wildcards = new Map<string, PlacedRules>();
  for (const [key, rules] of document.tools) {
    const placed = placeRules('tools', key, rules);
    exact.set(key, placed);
    const prefix = wildcardPrefix(key);
    if (prefix !== null) wildcards.set(prefix, placed);
  }
  return {
    key: documentKey(document.id),
    layer: document.id.layer,
    part: document.id.layer === 'user' ? document.id.part : null,
    enforces: document.mode === 'enforce',
    defaults: placeRules('defaults', null, document.defaults),
    exact,
    wildcards,
    agentTypes: new Map(document.agentTypes.map(([key, rules]) => [key, placeRules('agentTypes', key, rules)])),
    spelled: spelledNames(exact.keys()),
  };
}

function placeRules(section: 'defaults' | 'tools' | 'agentTypes', key: string | null, rules: TierRules): PlacedRules {
  return new Map(rules.map(([tier, rule]) => [tier, { rule, path: rulePath(section, key, tier) }]));
}

/** Returns what the document says, field by field, or null if it says nothing. */
export function readOpinion(document: IndexedDocument, tool: string, tier: Tier, agentType: string): Opinion | null {
  const cascade = matchingRules(document, tool, tier);
  const ofType = document.agentTypes.get(agentType)?.get(tier);
  if (cascade.length === 0 && ofType === undefined) return null;
  return {
    permission: sayings(cascade, ofType, (rule) => rule.permission, document.part),
    rateLimit: sayings(cascade, ofType, (rule) => rule.rateLimit, document.part),
    transform: sayings(cascade, ofType, (rule) => rule.transform, document.part),
  };
}

/**
 * Returns the rules that match the tool, in this order: `tools[tool]`, then the wildcards that match its beginning,
 * longest first, then `defaults`.
 */
function matchingRules(document: IndexedDocument, tool: string, tier: Tier): readonly PlacedRule[] {
  const places: (PlacedRules | undefined)[] = [document.exact.get(tool)];
  if (document.wildcards.size > 0) {
    for (let end = tool.length; end > 0; end--) places.push(document.wildcards.get(tool.slice(0, end)));
  }
  places.push(document.defaults);
  return places.flatMap((rules) => rules?.get(tier) ?? []);
}

function sayings<T>(
  cascade: readonly PlacedRule[],
  ofType: PlacedRule | undefined,
  field: (rule: Rule) => T | undefined,
  part: Part | null,
): readonly Saying<T>[] {
  const speaking = [cascade.find(({ rule }) => field(rule) !== undefined), ofType];
  return speaking.flatMap((placed) => {
    const value = placed === undefined ? undefined : field(placed.rule);
    // `override` in a member's own part was already rejected when it was written. It is ignored here too.
    return placed === undefined || value === undefined
      ? []
      : [{ value, path: placed.path, override: placed.rule.override === true && part !== 'self' }];
  });
}
