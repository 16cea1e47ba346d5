// Computes once everything about one caller and one tool that does not depend on counters: the refusal if there is one,
// both folds, and the decisions that result from them.
import { type EntryRule, reasons } from '@tollgate/proto/contract';
import type { Index } from './build-index.ts';
import type { Caller, Plan } from './caller.ts';
import { toolRefusal } from './chain.ts';
import { type Decision, type LimitSet, noLimits } from './decision.ts';
import type { IndexedDocument } from './document.ts';
import { type Fold, foldDocuments, foldHops, type Winner } from './fold.ts';
import { refuse } from './refusal.ts';
import { ruleWords } from './words.ts';

// Callers choose the tool names, so the memory for plans is bounded. All callers of a snapshot share it. `planBytes` is
// an estimate of what V8 uses for one plan.
const plansBytesMax = 8 * 1024 ** 2;
const planBytes = 1_200;
/**
 * For each snapshot: the kept callers that have plans, and the bytes of all plans. Null: the snapshot was replaced, and
 * its plans are not stored.
 */
const remembering = new WeakMap<Index, { bytes: number; readonly callers: Set<Caller> } | null>();

/** Returns the key of a plan. A tool name never contains a line break, so the separator is unambiguous. */
export const planKey = (tool: string, also: string | undefined): string => (also === undefined ? tool : `${tool}\n${also}`);

export function planFor(caller: Caller, tool: string, also?: string): Plan {
  const plan = makePlan(caller, tool, also);
  const key = planKey(tool, also);
  const known = remembering.get(caller.index);
  if (known === null || !caller.isKept) return plan;
  const all = known ?? { bytes: 0, callers: new Set() };
  remembering.set(caller.index, all);
  all.bytes += planBytes + 8 * key.length;
  if (all.bytes > plansBytesMax) {
    for (const one of all.callers) one.plans.clear();
    all.callers.clear();
    all.bytes = planBytes + 8 * key.length;
  }
  all.callers.add(caller);
  caller.plans.set(key, plan);
  return plan;
}

/** Removes the stored plans of a snapshot that was replaced. See `forgetCallers`. */
export function forgetPlans(index: Index): void {
  for (const one of remembering.get(index)?.callers ?? []) one.plans.clear();
  remembering.set(index, null);
}

function makePlan(caller: Caller, tool: string, also: string | undefined): Plan {
  const { enforced, shadow } = foldsOf(caller, tool, also);
  const storedTransform = enforced.transform === 'redact' || shadow?.transform === 'redact' ? 'redact' : 'log';
  const code = enforced.permission === 'allow' ? 'allowed' : 'policy_denied';
  const verb = enforced.permission === 'allow' ? 'allows' : 'denies';
  const outcome: Decision = Object.freeze({
    decision: enforced.permission,
    code,
    reason: `${code}: ${ruleWords(verb, enforced.permissionBy, tool, caller.tier)}`,
    kind: reasons[code],
    retryAfterMs: null,
    rule: entryRule(enforced.permissionBy, caller.index.revision),
    transform: enforced.transform,
    storedTransform,
    shadow: null,
    outage: false,
    stop: null,
    attempt: true,
    limits: enforced.permission === 'allow' ? limitSet(enforced) : noLimits,
    shadowLimits: noLimits,
    awaits: null,
  });
  return { refused: toolRefusal(caller, tool), outcome, shadow: shadow === null ? null : { fold: shadow, limits: limitSet(shadow) } };
}

const limitSet = ({ limits }: Fold): LimitSet => (limits.length === 0 ? noLimits : { limits, found: null });

/**
 * Returns both folds. The enforced fold uses the layers in `enforce` mode. The shadow fold uses all layers as if all
 * were enforced. `shadow` is null if no layer is in audit mode.
 */
export function foldsOf(caller: Caller, tool: string, also?: string): { readonly enforced: Fold; readonly shadow: Fold | null } {
  const { defaultPermission } = caller.index.settings;
  const [first, ...rest] = caller.hops;
  if (first === undefined) throw new RangeError('a caller must have at least one hop, the hop of the calling agent');
  const fold = (all: boolean): Fold => {
    const ofHop = (hop: typeof first): Fold => {
      const documents = all ? hop.documents : hop.documents.filter(({ enforces }) => enforces);
      const named = foldDocuments(hop, documents, tool, defaultPermission);
      // Two names of one call combine like two hops: the strictest result wins. For the second name, rules that name no
      // tool are left out, because they are already applied for the first name.
      return also === undefined ? named : foldHops([foldDocuments(hop, documents.map(keysAlone), also, 'allow'), named]);
    };
    return foldHops([ofHop(first), ...rest.map(ofHop)]);
  };
  const audited = caller.hops.some(({ documents }) => documents.some(({ enforces }) => !enforces));
  return { enforced: fold(false), shadow: audited ? fold(true) : null };
}

const keysAlone = (document: IndexedDocument): IndexedDocument => ({ ...document, defaults: new Map(), agentTypes: new Map() });

function entryRule(by: Winner, revision: number): EntryRule {
  return {
    layer: by.layer,
    ...(by.part === null ? {} : { part: by.part }),
    path: by.path,
    revision,
    ...(by.override ? { override: true as const } : {}),
  };
}

/** Returns the denial for an invalid tool name. */
export const malformedTool = (problem: string): Decision => refuse('call_malformed', `tool name ${problem}`);
