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
    'cascade.find(({ rule }) => field(rule) !== undefined)',
    'cascade[0]',
  ),
  mutant(
    "a member's own override is read",
    'decide/document.ts',
    "placed.rule.override === true && part !== 'self'",
    'placed.rule.override === true',
  ),
  mutant('rules for an agent type are forgotten', 'decide/document.ts', 'document.agentTypes.get(agentType)?.get(tier)', 'undefined'),
  mutant('audit mode enforces', 'decide/document.ts', "enforces: document.mode === 'enforce'", 'enforces: true'),
  // Folding
  mutant('an override replaces nothing', 'decide/fold.ts', 'let result = overriding.length > 0 ? null : held;', 'let result = held;'),
  mutant('an override leaves broader limits', 'decide/fold.ts', 'if (opinion.rateLimit.some(({ override }) => override)) limits = [];', ''),
  mutant(
    'a member may grant what the default denies',
    'decide/fold.ts',
    "documents.filter((document) => document.part !== 'self')",
    'documents',
  ),
  mutant(
    'the broadest of equal layers is named',
    'decide/fold.ts',
    'result.value !== strict || saying.value === strict',
    'result.value !== strict && saying.value === strict',
  ),
  mutant('the last hop decides alone', 'decide/fold.ts', "acc.permission === 'deny' && fold.permission === 'allow'", 'acc === fold'),
  mutant(
    'a limit met twice in a chain counts twice',
    'decide/fold.ts',
    'acc.limits.filter(({ id }) => !fold.limits.some((limit) => limit.id === id))',
    'acc.limits',
  ),
  mutant('what only an audited layer redacts is stored as it is', 'decide/plan.ts', " || shadow?.transform === 'redact'", ''),
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
