// Defines the vocabulary of the product. A word here is the same in the contract, SQL, code and documents.
export const tiers = ['interactive', 'subagent', 'background', 'api'] as const;
export type Tier = (typeof tiers)[number];

export const roles = ['owner', 'admin', 'member'] as const;
export type Role = (typeof roles)[number];

/** From the broadest layer to the most specific one. */
export const layers = ['workspace', 'role', 'agent-type', 'user'] as const;
export type Layer = (typeof layers)[number];

/** The two parts of a user document. `organisation`: owners and admins write it. `self`: the member writes it. */
export const parts = ['organisation', 'self'] as const;
export type Part = (typeof parts)[number];

export type Permission = 'allow' | 'deny';
/** What a rule may say. From strict to loose: `deny`, `ask` (a person decides), `allow`. */
export type RulePermission = Permission | 'ask';
/** From strict to loose. */
export const rulePermissions = ['deny', 'ask', 'allow'] as const satisfies readonly RulePermission[];

/** Returns the strictest of several permissions. Undefined: none of them is given. */
export const strictestPermission = (...said: readonly (RulePermission | undefined)[]): RulePermission | undefined =>
  rulePermissions.find((one) => said.includes(one));

/** Whether `a` is stricter than `b`. */
export const isStricterPermission = (a: RulePermission, b: RulePermission): boolean =>
  rulePermissions.indexOf(a) < rulePermissions.indexOf(b);
export type Transform = 'log' | 'redact';

export const scopes = [
  '*',
  'agents.read',
  'agents.write',
  'admin.approvals',
  'admin.audit.read',
  'policies.read',
  'policies.write',
  'members.write',
  'keys.write',
  'govern',
  'govern.impersonate',
  'sidecar.library',
  'sidecar.sync',
] as const;
export type Scope = (typeof scopes)[number];

export const isTier = (value: unknown): value is Tier => (tiers as readonly unknown[]).includes(value);
export const isRole = (value: unknown): value is Role => (roles as readonly unknown[]).includes(value);
export const isScope = (value: unknown): value is Scope => (scopes as readonly unknown[]).includes(value);

/**
 * Returns whether a key with the scopes `granted` permits everything that needs the scope `scope`. A key for a process
 * also permits everything that a key for a library permits.
 */
export const hasScope = (granted: readonly string[], scope: Scope): boolean =>
  granted.includes('*') || granted.includes(scope) || (scope === 'sidecar.library' && granted.includes('sidecar.sync'));

/** For the end of a `switch` over a union. The code does not compile while a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
