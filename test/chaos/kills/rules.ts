// The rules that a run of kills writes and the checker knows: tools that are switched on and off, tools with a limit,
// and one whose limit changes; and tools whose rules look at the input.
export const freeTool = 'free.read';
export const switchedTools = ['switched.0', 'switched.1', 'switched.2', 'switched.3', 'switched.4', 'switched.5'] as const;
export const limitedTools = ['limited.few', 'limited.some', 'limited.many', 'limited.moving'] as const;
/** Only the code that waits for a rule to be enforced everywhere calls them. */
export const probeTools = { reconnected: ['probe.0', 'probe.1'], current: ['probe.2', 'probe.3'] } as const;
/** The tool whose limit names the write that a revision comes from. */
export const markTool = 'mark';

/** The cases of this tool change. */
export const casedTool = 'cased.moving';
/** Only calls of a case of this tool have a limit. */
export const casedLimitTool = 'cased.limited';

/** The rule of a tool; absent fields set nothing. */
export interface ToolRule {
  readonly permission?: 'allow' | 'deny';
  readonly rateLimit?: number;
  readonly cases?: readonly ToolCase[];
}

interface ToolCase {
  readonly name: keyof typeof conditions;
  readonly when: string;
  readonly permission?: 'allow' | 'deny';
  readonly rateLimit?: number;
}

/** `holds`: what the condition is for the call with this id, by its input. Null: undecided. */
const conditions = {
  odd: { when: 'int(args.call.substring(5)) % 2 == 1', holds: (id: string): boolean | null => Number(id.slice(5)) % 2 === 1 },
  third: { when: 'int(args.call.substring(5)) % 3 == 0', holds: (id: string): boolean | null => Number(id.slice(5)) % 3 === 0 },
  never: { when: 'args.amount > 100', holds: (): boolean | null => null },
} as const;

const caseOf = (name: ToolCase['name'], sets: Pick<ToolCase, 'permission' | 'rateLimit'>): ToolCase => ({
  name,
  when: conditions[name].when,
  ...sets,
});

/** What `casedTool` may be changed to. Each sets the same fields, because a write is merged into what is there. */
export const casedRules: readonly [ToolRule, ...ToolRule[]] = [
  { permission: 'allow', cases: [caseOf('odd', { permission: 'deny' })] },
  { permission: 'deny', cases: [caseOf('odd', { permission: 'allow' })] },
  { permission: 'allow', cases: [caseOf('third', { permission: 'allow' }), caseOf('never', { permission: 'deny' })] },
  { permission: 'deny', cases: [caseOf('never', { permission: 'allow' }), caseOf('odd', { permission: 'allow' })] },
];

/** The rule as it is for the call with this id: the strictest of those that it may be. */
export function ruleOfCall({ cases = [], ...rule }: ToolRule, id: string): ToolRule {
  const mayBe: ToolRule[] = [];
  for (const one of cases) {
    const value = conditions[one.name].holds(id);
    if (value === false) continue;
    const { permission = rule.permission, rateLimit = rule.rateLimit } = one;
    mayBe.push({ ...(permission === undefined ? {} : { permission }), ...(rateLimit === undefined ? {} : { rateLimit }) });
    if (value) return strictest(mayBe);
  }
  return strictest([...mayBe, rule]);
}

function strictest(rules: readonly ToolRule[]): ToolRule {
  const limits = rules.flatMap(({ rateLimit }) => (rateLimit === undefined ? [] : [rateLimit]));
  return {
    permission: rules.some(({ permission }) => permission === 'deny') ? 'deny' : 'allow',
    ...(limits.length === 0 ? {} : { rateLimit: Math.min(...limits) }),
  };
}

/** Merged into the workspace's document; null removes an entry. */
export type Patch = Readonly<Record<string, ToolRule | null>>;

export const firstRules: Patch = {
  'limited.few': { rateLimit: 5 },
  'limited.some': { rateLimit: 12 },
  'limited.many': { rateLimit: 30 },
  'limited.moving': { rateLimit: 8 },
  [casedTool]: casedRules[0],
  [casedLimitTool]: { permission: 'allow', cases: [caseOf('odd', { rateLimit: 6 })] },
};

export const movingLimits = [4, 8, 16] as const;

export const documentOf = (patch: Patch): object => ({
  tools: Object.fromEntries(Object.entries(patch).map(([tool, rule]) => [tool, rule === null ? null : { api: rule }])),
});
