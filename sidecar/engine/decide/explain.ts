// Explains why a call gets its decision: each layer with its rule, for each agent of its chain, both folds, and what would
// have to change. It is for people. It reads the same index and makes the same folds as `decide`, but it counts nothing
// and checks no caps.
import {
  broughtBy,
  childPath,
  type CompiledToolNames,
  type DocumentId,
  documentKey,
  type HostName,
  keyedPath,
  type Layer,
  type AskingRule,
  type Part,
  type RedactionKind,
  type RulePermission,
  type Tier,
  type Transform,
  wildcardPrefix,
} from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { BoundHop } from './caller.ts';
import { scopesOf } from './chain.ts';
import { type CaseAnswers, everySaying, readOpinion, type Saying } from './document.ts';
import { type CasesByDocument, dependsOn, type ExplainedCase, type ExplainedInput, lookAtCases } from './explain-cases.ts';
import { agentsOf, type AskedChain, chainOf, type ExplainedChain, hopsOf, refusalBefore } from './explain-chain.ts';
import { type Fold, foldDocuments, foldHops, type Winner } from './fold.ts';
import { eligibleApprovers } from './approvers.ts';
import { keptKinds } from './kept-kinds.ts';
import { type AnswersOfHop, verbs } from './plan.ts';
import type { Remedy } from './remedies.ts';
import { type Change, joinWays, obstaclesOf, partOf, type Speaker, waysToAllow } from './ways-to-allow.ts';
import { limitWords, ruleWords } from './words.ts';

export interface Question extends AskedChain {
  /** What the call would be. Absent: nothing is known of it, so every case may hold. */
  readonly call?: ExplainedInput;
}

interface Outcome {
  readonly permission: RulePermission;
  /** The smallest of all limits. All limits apply and must have calls left. Null: there is no limit. */
  readonly rateLimit: number | null;
  readonly limits: readonly { readonly layer: Layer; readonly part?: Part; readonly path: string; readonly rateLimit: number }[];
  readonly transform: Transform;
  readonly attributedTo: Place;
}

interface Place {
  readonly layer: Layer | 'default';
  readonly part?: Part;
  readonly path: string;
  readonly override?: true;
}

interface ExplainedField {
  readonly field: 'permission' | 'rateLimit' | 'transform';
  readonly value: string | number;
  readonly path: string;
  readonly override?: true;
}

interface ExplainedLayer {
  readonly layer: Layer;
  readonly part?: Part;
  readonly document: string;
  /**
   * Null: the document is not set. A compiled document has the mode `audit` for both words that a document may have:
   * `createExplainer` puts the word of the document in its place.
   */
  readonly mode: 'enforce' | 'audit' | 'audit-only' | null;
  /**
   * The path of the permission that the document sets, or of the first field that it sets. Empty: it says nothing about
   * the call.
   */
  readonly path: string;
  readonly rule: Readonly<Record<string, string | number | true>>;
  readonly fields: readonly ExplainedField[];
  /** The cases of the rules that match the call. Absent: they have none. */
  readonly cases?: readonly ExplainedCase[];
}

/** An agent above the calling agent: what the documents that apply to it say about the call. */
interface ExplainedAbove {
  readonly agentType: string;
  readonly tier: Tier;
  /** The results of its documents alone. */
  readonly enforced: Outcome;
  readonly shadow: Outcome;
  readonly layers: readonly ExplainedLayer[];
  /** Present if one of its rules decides. In none of the agents above: one of the calling agent does, if a rule does. */
  readonly decides?: true;
}

/** How the workspace changes the effect of `redact` on the call. Patterns are shown only by name. */
interface ExplainedRedaction {
  readonly off: readonly RedactionKind[];
  readonly patterns: readonly string[];
  /** The number of values that are not redacted. */
  readonly allow: number;
  /** The kinds that are not redacted in calls of this tool, and the path of this exception. Null: there is none. */
  readonly exception: { readonly path: string; readonly kinds: readonly string[] } | null;
}

/** A rule or case that asks a person about the call. */
type ExplainedAsk = Place &
  AskingRule['terms'] & {
    readonly document: string;
    /** The uids of members who may answer, at most 20. */
    readonly mayAnswer: readonly string[];
    readonly mayAnswerCount: number;
  };

export interface Explanation {
  readonly enforced: Outcome;
  readonly shadow: Outcome;
  /** Present if the payload that is passed on, or its stored copy, is redacted. */
  readonly redaction?: ExplainedRedaction;
  /** The names that hosts use for the tool. Present only if the workspace document maps other names to this tool. */
  readonly toolNames?: readonly HostsName[];
  /**
   * The decision about a call by an agent of this type, if the agent has not used any of its limits and caps yet.
   * `ask`: a person is asked. `depends`: the cases decide, and no input was given.
   */
  readonly decision: RulePermission | 'depends';
  readonly reason: string;
  /** Every rule that asks a person. Present if the call is asked for, or may be. */
  readonly asks?: readonly ExplainedAsk[];
  /** Every layer that can apply to the calling agent, from broad to specific. */
  readonly layers: readonly ExplainedLayer[];
  /** The agents above in the chain, root first. Absent: a direct call. */
  readonly above?: readonly ExplainedAbove[];
  /**
   * The ways to get the call allowed without asking. Each is a list of changes to make together. Empty: it is allowed, or no
   * change of the policy allows such a chain.
   */
  readonly wouldAllow: readonly (readonly Change[])[];
  /** What would be allowed in place of the call, without a change of the policy. */
  readonly remedies: readonly Remedy[];
}

export function explain(index: Index, question: Question): Explanation {
  const { subject, tier, tool } = question;
  const chain = chainOf(index, question);
  const agents = agentsOf(chain);
  const hops = hopsOf(chain);
  const looked = lookAtCases({ index, subject, scopes: scopesOf(hops), hops }, tool, question.call);
  const foldsOf = (answers: AnswersOfHop, all: boolean) => foldsOfHops(index, hops, tool, answers, all);
  const [folds, shadows] = [foldsOf(looked.answers, false), foldsOf(looked.answers, true)];
  const [enforced, shadow] = [foldHops(folds), foldHops(shadows)];
  const speakers = agents.map(({ ids }, at) => speakersOf(ids, hops[at], tool, looked.answers(at)));
  const denialBy = (one: Fold): string | null => denialOf(index, { tier, tool }, chain, one);
  const denial = denialBy(enforced);
  const words = ruleWords(verbs[enforced.permission], enforced.permissionBy, tool, tier);
  const unless = denial ?? (enforced.permission === 'ask' ? `approval_pending: ${words}` : null);
  const depends = unless === null || question.call !== undefined ? null : dependsOn(looked.byHop, enforced, unless);
  const toolNames = namesInHosts(index.settings.toolNames, tool);
  const layers = speakers.map((ofAgent, at) => layersOf(ofAgent, looked.byHop[at]));
  // If the call is refused before the rules are read, no rule decides.
  const deciding = refusalBefore(index, chain, tool) === null ? decidingHop(folds, enforced) : null;
  const above = chain.above.map(({ hop: { agentType, tier: tierAbove } }, at): ExplainedAbove => {
    const [its, itsShadow] = [folds[at] ?? enforced, shadows[at] ?? shadow];
    return {
      agentType,
      tier: tierAbove,
      enforced: outcomeOf(its),
      shadow: outcomeOf(itsShadow),
      layers: layers[at] ?? [],
      ...(at === deciding ? { decides: true } : {}),
    };
  });
  return {
    enforced: outcomeOf(enforced),
    shadow: outcomeOf(shadow),
    ...(enforced.transform === 'redact' || shadow.transform === 'redact' ? { redaction: redactionOf(index, tool) } : {}),
    ...(toolNames.length === 0 ? {} : { toolNames }),
    decision: depends !== null ? 'depends' : denial !== null ? 'deny' : enforced.permission,
    reason: depends ?? unless ?? `allowed: ${words}`,
    ...(enforced.asks.length === 0
      ? {}
      : { asks: enforced.asks.map((asking) => explainAsk(asking, speakers.flat(), { index, uid: subject.uid })) }),
    layers: layers.at(-1) ?? [],
    ...(above.length === 0 ? {} : { above }),
    wouldAllow: unless === null ? [] : waysOf(index, { chain, tool, answers: looked.answers }),
    remedies: unless === null ? [] : looked.remedies((answers) => betterFold(foldHops(foldsOf(answers, false)), denialBy, denial !== null)),
  };
}

/** Folds the documents for each hop. `all`: those in audit mode too. */
function foldsOfHops(index: Index, hops: readonly BoundHop[], tool: string, answers: AnswersOfHop, all: boolean): Folds {
  const folds = hops.map((hop, at) => {
    const documents = all ? hop.documents : hop.documents.filter(({ enforces }) => enforces);
    return foldDocuments(hop, documents, tool, index.settings.defaultPermission, answers(at));
  });
  const [first, ...rest] = folds;
  if (first === undefined) throw new RangeError('a chain has at least one hop, the hop of the calling agent');
  return [first, ...rest];
}

type Folds = readonly [Fold, ...Fold[]];

/** Returns the hop whose rule decides: of a limit that allows no call, or else of the permission. The last of several. */
function decidingHop(folds: Folds, { permission, limits }: Fold): number {
  const closed = permission === 'deny' ? undefined : limits.findLast(({ max }) => max === 0);
  return folds.findLastIndex((fold) =>
    closed === undefined ? fold.permission === permission : fold.limits.some(({ id }) => id === closed.id),
  );
}

function speakersOf(ids: readonly DocumentId[], hop: BoundHop | undefined, tool: string, answers: CaseAnswers): readonly Speaker[] {
  return ids.map((id): Speaker => {
    const document = hop?.documents.find(({ key }) => key === documentKey(id));
    if (hop === undefined || document === undefined) return { id, document: null, opinion: null, sayings: null };
    const asked = [document, tool, hop.tier, hop.agentType, answers] as const;
    return { id, document, opinion: readOpinion(...asked), sayings: everySaying(...asked) };
  });
}

interface DeniedCall {
  readonly chain: ExplainedChain;
  readonly tool: string;
  readonly answers: AnswersOfHop;
}

/**
 * Returns the ways to allow the call: all obstacles are removed, and every hop allows it. `enforced`: documents in audit mode
 * that an earlier change of the way enforces.
 */
function waysOf(index: Index, call: DeniedCall, enforced: readonly string[] = []): readonly (readonly Change[])[] {
  const { chain, tool, answers } = call;
  const hops = hopsOf(chain).map((hop) => ({
    ...hop,
    documents: hop.documents.map((document) => (enforced.includes(document.key) ? { ...document, enforces: true } : document)),
  }));
  const folds = foldsOfHops(index, hops, tool, answers, false);
  const obstacles = obstaclesOf(index, { chain, enforced: foldHops(folds) }, tool);
  if (obstacles === null) return [];
  const ofHops = agentsOf(chain).flatMap(({ ids, hop: { tier } }, at) =>
    folds[at]?.permission === 'allow' ? [] : [waysToAllow(index, speakersOf(ids, hops[at], tool, answers(at)), { tier, tool })],
  );
  return joinWays(ofHops).map((way) => {
    const modes = way.filter(({ path }) => path === 'mode');
    if (hops.length === 1 || modes.length === 0) return [...obstacles, ...way];
    // The document can apply to other agents of the chain, too. What it says of their calls counts from then on.
    return [...modes, ...(waysOf(index, call, [...enforced, ...modes.map(({ document }) => document)]).at(-1) ?? [])];
  });
}

/** In place of a denial, a call that is asked for is better too. */
const betterFold = (fold: Fold, denialBy: (fold: Fold) => string | null, isDenied: boolean): Fold | null =>
  denialBy(fold) === null && (isDenied || fold.permission === 'allow') ? fold : null;

function explainAsk(
  { document, path, terms }: AskingRule,
  speakers: readonly Speaker[],
  { index: { members }, uid }: { readonly index: Pick<Index, 'members'>; readonly uid: string | null },
): ExplainedAsk {
  const id = speakers.find((one) => documentKey(one.id) === document)?.id ?? { layer: 'workspace' as const };
  const part = partOf(id);
  const place = { layer: id.layer, ...(part === null ? {} : { part }), document, path };
  const may = eligibleApprovers(terms, [...members.values()], uid);
  return { ...place, ...terms, mayAnswer: may.slice(0, shownApprovers).map((member) => member.uid), mayAnswerCount: may.length };
}

const shownApprovers = 20;

function redactionOf({ settings: { redaction } }: Index, tool: string): ExplainedRedaction {
  const { path, kinds } = keptKinds(redaction, tool);
  return {
    off: redaction.off,
    patterns: redaction.patterns.map(([name]) => name),
    allow: redaction.allow.length,
    exception: path === null ? null : { path, kinds },
  };
}

/** Returns the reason of the first step that denies. Null: no step denies. */
function denialOf(index: Index, { tier, tool }: Pick<Question, 'tier' | 'tool'>, chain: ExplainedChain, enforced: Fold): string | null {
  const { permission, permissionBy, limits } = enforced;
  const refused = refusalBefore(index, chain, tool);
  if (refused !== null) return refused.reason;
  if (permission === 'deny') return `policy_denied: ${ruleWords('denies', permissionBy, tool, tier)}`;
  const closed = limits.findLast(({ max }) => max === 0);
  return closed === undefined ? null : `rate_limited: ${limitWords(closed, index.settings.windowSeconds)}`;
}

function outcomeOf({ permission, permissionBy, limits, transform }: Fold): Outcome {
  return {
    permission,
    rateLimit: limits.length === 0 ? null : Math.min(...limits.map(({ max }) => max)),
    limits: limits.map(({ layer, part, path, max }) => ({ layer, ...(part === undefined ? {} : { part }), path, rateLimit: max })),
    transform,
    attributedTo: placeOf(permissionBy),
  };
}

const placeOf = ({ layer, part, path, override }: Winner): Place => ({
  layer,
  ...(part === null ? {} : { part }),
  path,
  ...(override ? { override: true as const } : {}),
});

const layersOf = (speakers: readonly Speaker[], cases: CasesByDocument | undefined): readonly ExplainedLayer[] =>
  speakers.map((speaker) => explainLayer(speaker, cases?.get(documentKey(speaker.id)) ?? []));

function explainLayer({ id, document, ...said }: Speaker, cases: readonly ExplainedCase[]): ExplainedLayer {
  const part = partOf(id);
  const fields = (['permission', 'rateLimit', 'transform'] as const).flatMap((field) =>
    sayingsOf(said, field).map(
      ({ value, path, override }): ExplainedField => ({ field, value, path, ...(override ? { override: true as const } : {}) }),
    ),
  );
  return {
    layer: id.layer,
    ...(part === null ? {} : { part }),
    document: documentKey(id),
    mode: document === null ? null : document.enforces ? 'enforce' : 'audit',
    path: fields[0]?.path ?? '',
    rule: ruleOf(fields),
    fields,
    ...(cases.length === 0 ? {} : { cases }),
  };
}

function sayingsOf(
  { opinion, sayings }: Pick<Speaker, 'opinion' | 'sayings'>,
  field: ExplainedField['field'],
): readonly Saying<string | number>[] {
  if (opinion === null || sayings === null) return [];
  const ofField: readonly Saying<string | number>[] = field === 'rateLimit' ? opinion.limits : sayings[field];
  // A rule may say the same whichever of its cases holds.
  return [...new Map(ofField.map((saying) => [saying.path, saying])).values()];
}

/** Merges the fields into one rule. If a field occurs twice, the stricter value is used. */
function ruleOf(fields: readonly ExplainedField[]): ExplainedLayer['rule'] {
  const rule = new Map<string, string | number | true>();
  for (const { field, value, override } of fields) {
    const held = rule.get(field);
    const stricter =
      held === undefined ||
      value === 'deny' ||
      value === 'redact' ||
      (value === 'ask' && held === 'allow') ||
      (typeof held === 'number' && Number(value) < held);
    if (stricter) rule.set(field, value);
    if (override === true) rule.set('override', true);
  }
  return Object.fromEntries(rule);
}

// Finds the names that hosts use for a tool, according to the workspace's own tables. This is the reverse of the
// mapping to our names. Pure.

interface HostsName {
  readonly host: HostName;
  readonly name: string;
  /** For example `toolNames.codex["Bash"]`, in the workspace document. */
  readonly path: string;
}

function namesInHosts(toolNames: CompiledToolNames, tool: string): readonly HostsName[] {
  return toolNames.flatMap(([host, names]) => {
    const table = new Map(names);
    return names.flatMap(([theirs, ours]) => {
      const name = broughtFrom(theirs, ours, tool);
      // Another row of the table may match this name more closely.
      if (name === null || broughtBy(table, name) !== tool) return [];
      return [{ host, name, path: keyedPath(childPath('toolNames', host), theirs) }];
    });
  });
}

function broughtFrom(theirs: string, ours: string, tool: string): string | null {
  const prefix = wildcardPrefix(theirs);
  if (prefix === null) return ours === tool ? theirs : null;
  const begins = wildcardPrefix(ours) ?? '';
  return begins !== '' && tool.startsWith(begins) ? prefix + tool.slice(begins.length) : null;
}
