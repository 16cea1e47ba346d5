// The rules that a run of kills writes and the checker knows: tools that are switched on and off, tools with a limit,
// and one whose limit changes.
export const freeTool = 'free.read';
export const switchedTools = ['switched.0', 'switched.1', 'switched.2', 'switched.3', 'switched.4', 'switched.5'] as const;
export const limitedTools = ['limited.few', 'limited.some', 'limited.many', 'limited.moving'] as const;
/** Only the code that waits for a rule to be enforced everywhere calls them. */
export const probeTools = { reconnected: ['probe.0', 'probe.1'], current: ['probe.2', 'probe.3'] } as const;
/** The tool whose limit names the write that a revision comes from. */
export const markTool = 'mark';

/** The rule of a tool; absent fields set nothing. */
export interface ToolRule {
  readonly permission?: 'allow' | 'deny';
  readonly rateLimit?: number;
}

/** Merged into the workspace's document; null removes an entry. */
export type Patch = Readonly<Record<string, ToolRule | null>>;

export const firstRules: Patch = {
  'limited.few': { rateLimit: 5 },
  'limited.some': { rateLimit: 12 },
  'limited.many': { rateLimit: 30 },
  'limited.moving': { rateLimit: 8 },
};

export const movingLimits = [4, 8, 16] as const;

export const documentOf = (patch: Patch): object => ({
  tools: Object.fromEntries(Object.entries(patch).map(([tool, rule]) => [tool, rule === null ? null : { api: rule }])),
});
