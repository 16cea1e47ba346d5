// Mistakes that a developer might make in the decide core, as edits of its text. The tests must find each of them. A
// text that is no longer in its file is also a failure, which keeps this list up to date with the code.

export interface Mutant {
  readonly mistake: string;
  /** Under `sidecar/`. */
  readonly file: string;
  /** The text to replace. It occurs in the file exactly once. */
  readonly search: string;
  readonly replace: string;
}

const mutant = (mistake: string, file: string, search: string, replace: string): Mutant => ({ mistake, file, search, replace });

export const mutants: readonly Mutant[] = [
  // The rules of one document
  mutant(
    'the shortest wildcard speaks first',
    'decide/document.ts',
    'for (let end = tool.length; end > 0; end--)',
    'for (let end = 1; end <= tool.length; end++)',
  ),
  mutant(
    'the nearest rule speaks for all fields',
    'decide/document.ts',
    'if (isSet) return ways;',
    'return isSet ? ways : [...ways, null];',
  ),
  mutant("a member's own override is read", 'decide/document.ts', "override === true && part !== 'self'", 'override === true'),
  mutant(
    'rules for an agent type are forgotten',
    'decide/document.ts',
    'const further = ofType === undefined ? [] : [ofType];',
    'const further = [] as PlacedRule[];',
  ),
  mutant('audit mode enforces', 'decide/document.ts', "enforces: document.mode === 'enforce'", 'enforces: true'),
  // Folding
  mutant('an override replaces nothing', 'decide/fold.ts', 'let result = overriding.length > 0 ? null : held;', 'let result = held;'),
  mutant('an override leaves broader limits', 'decide/fold.ts', 'if (opinion.limits.some(({ override }) => override)) limits = [];', ''),
  mutant('a member may grant what the default denies', 'decide/fold.ts', "if (document.part !== 'self') add(document);", 'add(document);'),
  mutant(
    'the broadest of equal layers is named',
    'decide/fold.ts',
    'order.indexOf(saying.value) > order.indexOf(result.value)',
    'order.indexOf(saying.value) >= order.indexOf(result.value)',
  ),
  mutant(
    'the last hop decides alone',
    'decide/fold.ts',
    'permissionOrder.indexOf(acc.permission) < permissionOrder.indexOf(fold.permission)',
    'acc === fold',
  ),
  mutant(
    'a limit met twice in a chain counts twice',
    'decide/fold.ts',
    'acc.limits.filter(({ id }) => !fold.limits.some((limit) => limit.id === id))',
    'acc.limits',
  ),
  mutant('what only an audited layer redacts is stored as it is', 'decide/plan.ts', " || shadow?.transform === 'redact'", ''),
  // What rules with cases may be
  mutant('only the first undecided case counts', 'decide/document.ts', '[...undecided, held]', '[...undecided.slice(0, 1), held]'),
  mutant('an undecided case does not hold', 'decide/document.ts', '[...undecided, held]', '[held]'),
  mutant('the first undecided case holds', 'decide/document.ts', '[...undecided, held]', '[undecided[0] ?? held]'),
  mutant(
    'the rule as it is counts together with a case that holds',
    'decide/document.ts',
    '[...undecided, held]',
    '[...undecided, held, -1]',
  ),
  mutant(
    'the fields of a rule are lost in its cases',
    'decide/document.ts',
    'ofCase ?? field.read(rule)',
    'one === null ? field.read(rule) : ofCase',
  ),
  mutant(
    'a field that is set in one way passes broader keys by in all ways',
    'decide/document.ts',
    'if (isSet) return ways;',
    'if (ways.length > 0) return ways;',
  ),
  mutant(
    'a rule that sets a field in one way leaves it to broader keys in all ways',
    'decide/document.ts',
    'if (isSet) return ways;',
    'if (isSet) return ways; else ways.length = 0;',
  ),
  mutant('a case that only redacts is not looked at', 'decide/document.ts', '(free.transform && transform !== undefined)', 'false'),
  mutant(
    'the limits of undecided cases do not count',
    'decide/document.ts',
    'limitsOfCases(mayApply(placed, answers))',
    'limitsOfCases(mayApply(placed, answers).slice(-1))',
  ),
  mutant(
    'the limit of a case replaces that of its rule',
    'decide/document.ts',
    'if (rule.rateLimit === undefined) continue;',
    'if (rule.rateLimit === undefined || cases !== null) continue;',
  ),
  mutant(
    'the limit of a case passes the limit of a broader key by',
    'decide/document.ts',
    'if (rule.rateLimit === undefined) continue;',
    'if (limits.some(({ length }) => length > 0)) break; else if (rule.rateLimit === undefined) continue;',
  ),
  mutant(
    'the limit of a case replaces those of broader documents',
    'decide/document.ts',
    'path: one.path, override: false',
    'path: one.path, override: true',
  ),
  mutant(
    'an override replaces also where another way has none',
    'decide/fold.ts',
    'foldSayings(before, sayings, document, order)',
    'foldSayings(ways.flat().some(({ override }) => override) ? null : before, sayings, document, order)',
  ),
  mutant(
    'the loosest way acts',
    'decide/fold.ts',
    'for (const value of order) ruling ??=',
    'for (const value of [...order].reverse()) ruling ??=',
  ),
  mutant(
    'the first way acts',
    'decide/fold.ts',
    'let ruling: Ruling<T> | undefined;',
    'let ruling: Ruling<T> | undefined = rulings[0] ?? undefined;',
  ),
  mutant('the last of equal ways is named', 'decide/fold.ts', ' && same.by.document !== document.key', ''),
  mutant(
    'the broadest document with equal ways is named',
    'decide/fold.ts',
    'after.by.document === document.key && same.by.document !== document.key ? after : same',
    'same',
  ),
  mutant('cases are read from the last', 'decide/cases.ts', '(cases ?? []).entries()', '[...(cases ?? []).entries()].reverse()'),
  mutant('all hops are judged by the first', 'decide/plan.ts', 'byHop.get(hop)?.get(rule)', 'byHop.get(0)?.get(rule)'),
  mutant('conditions read the calling agent at every hop', 'decide/cases.ts', 'this.agent = agents[hop];', 'this.agent = agents.at(-1);'),
  mutant('the hops share what a condition says of one agent', 'decide/cases.ts', 'readsAgent ? null : this.#shared', 'this.#shared'),
  mutant(
    'the variables of the first hop stay',
    'decide/cases.ts',
    'this.#environment === null || this.#hop !== hop',
    'this.#environment === null',
  ),
  mutant('an outcome is remembered without what was undecided', 'decide/cases.ts', 'undecided.length === 0 ?', 'undecided.length >= 0 ?'),
  // Rules that ask
  mutant(
    'a rule that asks allows',
    'decide/document.ts',
    '=> permission, hasReason',
    "=> (permission === 'ask' ? 'allow' : permission), hasReason",
  ),
  mutant(
    'a rule that asks denies',
    'decide/document.ts',
    '=> permission, hasReason',
    "=> (permission === 'ask' ? 'deny' : permission), hasReason",
  ),
  mutant('an allow is stricter than a question', 'decide/fold.ts', '= rulePermissions;', "= ['deny', 'allow', 'ask'];"),
  mutant('a question is stricter than a denial', 'decide/fold.ts', '= rulePermissions;', "= ['ask', 'deny', 'allow'];"),
  mutant('only the most specific layer asks', 'decide/fold.ts', 'joinAsks(result?.asks, saying.asks)', 'saying.asks'),
  mutant(
    'an override leaves what broader layers ask',
    'decide/fold.ts',
    'joinAsks(result?.asks, saying.asks)',
    'joinAsks(held?.asks ?? result?.asks, saying.asks)',
  ),
  mutant('only the first way asks', 'decide/fold.ts', '{ ...named, asks: joinAsks(same.asks, after.asks) }', 'named'),
  mutant('only the first undecided case asks', 'decide/document.ts', 'asks: joinAsks(way.asks, saying.asks)', 'asks: way.asks'),
  mutant(
    'a case asks by the terms of its rule',
    'decide/document.ts',
    '? { path, ask } : one',
    '? { path, ask } : { path: one.path, ask }',
  ),
  mutant('only the last hop asks', 'decide/fold.ts', 'joinAsks(acc.asks, fold.asks) : fold.asks', 'fold.asks : fold.asks'),
  mutant(
    'a person is asked before the limits are met',
    'decide/decide.ts',
    'const full = outcome.limits === noLimits ?',
    'const full = outcome.limits === noLimits || (asked !== null && approved === null) ?',
  ),
  mutant('an approval of one rule is one of all', 'decide/decide.ts', 'asks.every(({ digest })', 'asks.some(({ digest })'),
  mutant(
    'an approved call counts in no limit',
    'decide/plan.ts',
    'limits: isAllowed ?',
    "limits: isAllowed && enforced.permission === 'allow' ?",
  ),
  mutant('an approved call is counted twice', 'decide/decide.ts', '!isCounted && usage.toolCalls', 'usage.toolCalls'),
  mutant(
    'the shadow never asks',
    'decide/decide.ts',
    "fold.permission === 'ask' && isCovered(fold.asks, approved)",
    "fold.permission === 'ask'",
  ),
  mutant(
    'the shadow asks for what was approved',
    'decide/decide.ts',
    "fold.permission === 'ask' && isCovered(fold.asks, approved)",
    'approved === undefined',
  ),
  mutant('a question of the shadow counts in its limits', 'decide/decide.ts', "would !== 'allow' || full", "would === 'deny' || full"),
  // The order of one decision
  mutant(
    'a suspended parent does not count',
    'decide/bind.ts',
    'hops.find(({ profile }) => profile?.suspended === true)',
    'hops.slice(-1).find(({ profile }) => profile?.suspended === true)',
  ),
  mutant(
    'an outage asks the caller alone',
    'decide/bind.ts',
    "hops.find(({ tier }) => index.settings.outage.then[tier] === 'deny')",
    "hops.slice(-1).find(({ tier }) => index.settings.outage.then[tier] === 'deny')",
  ),
  mutant('a root that is not delegatable may not call', 'decide/chain.ts', 'at > 0 && !profile.delegatable', '!profile.delegatable'),
  mutant(
    'depth is counted from the root',
    'decide/chain.ts',
    'depth - at > profile.maxDelegationDepth',
    'depth > profile.maxDelegationDepth',
  ),
  mutant('handed scopes add up', 'decide/chain.ts', 'held.filter((scope) => scopes.includes(scope))', '[...held, ...scopes]'),
  mutant('anybody may name anybody', 'decide/bind.ts', "!hasScope(key.scopes, 'govern.impersonate')", 'false'),
  mutant(
    'the last moment of a run is too late',
    'decide/decide.ts',
    'now - startedAt >= profile.maxDurationMs',
    'now - startedAt > profile.maxDurationMs',
  ),
  mutant('one tool call too many', 'decide/decide.ts', 'usage.toolCalls >= profile.maxToolCalls', 'usage.toolCalls > profile.maxToolCalls'),
  mutant(
    'the last round is refused',
    'decide/decide.ts',
    'usage.toolRounds > profile.maxToolRounds',
    'usage.toolRounds >= profile.maxToolRounds',
  ),
  mutant('no budget is no run', 'decide/decide.ts', 'usage.spentCents > 0 && usage.spentCents >=', 'usage.spentCents >='),
  // Counting
  mutant('only allowed attempts count to the caps', 'limits/usage.ts', 'if (decision.attempt)', "if (decision.decision === 'allow')"),
  mutant(
    'the shadow counts with the enforced',
    'limits/usage.ts',
    "counters.allowanceOf(originSub, 'shadow')",
    "counters.allowanceOf(originSub, 'enforced')",
  ),
  mutant(
    'everybody shares one allowance',
    'limits/usage.ts',
    "counters.allowanceOf(originSub, 'enforced')",
    "counters.allowanceOf('', 'enforced')",
  ),
  mutant('a window forgets a second early', 'limits/window.ts', 'new Uint32Array(seconds + 1)', 'new Uint32Array(seconds)'),
];
