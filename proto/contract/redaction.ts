// What redaction finds, what it leaves in its place, and how a workspace adapts it. The engine is `sidecar/redact`.

const secretKinds = [
  'authorization',
  'cloud_key',
  'code_hosting_token',
  'jwt',
  'messaging_token',
  'model_key',
  'password',
  'payment_key',
  'private_key',
  'registry_token',
  'secret',
  'service_token',
  'tollgate_key',
  'url_credentials',
] as const;

const personalKinds = ['crypto_address', 'email', 'iban', 'ip_address', 'mac_address', 'national_id', 'payment_card', 'phone'] as const;

/** What is looked for where a workspace says nothing else. */
export const redactionKinds = [...secretKinds, ...personalKinds] as const;
export type RedactionKind = (typeof redactionKinds)[number];

export const isRedactionKind = (value: unknown): value is RedactionKind => (redactionKinds as readonly unknown[]).includes(value);

/** How a workspace adapts redaction; part of its settings in the snapshot. Lists are sorted. */
export interface CompiledRedaction {
  /** Kinds that are not looked for. */
  readonly off: readonly RedactionKind[];
  /** The workspace's own kinds: RE2 patterns by name. */
  readonly patterns: readonly (readonly [string, string])[];
  /** SHA-256 in hex of values that stay as they are. */
  readonly allow: readonly string[];
  /** Kinds, own ones among them, that calls of a tool keep; by tool name or wildcard. */
  readonly exceptions: readonly (readonly [string, readonly string[]])[];
}

/** A workspace that adapts nothing. */
export const plainRedaction: CompiledRedaction = { off: [], patterns: [], allow: [], exceptions: [] };

/** Where a payload was replaced whole, because it would have taken too much work. */
export const overBudgetKind = 'over_budget';

/** How much of each a workspace may have. */
export const redactionBounds = { patterns: 50, allow: 1_000, exceptions: 1_000 } as const;

const ownKind = /^[a-z][a-z0-9_]{0,39}$/;

/** Null, or why a text cannot name a kind of a workspace's own. */
export function ownKindProblem(name: string): string | null {
  if (isRedactionKind(name)) return 'names a kind that is built in';
  if (name === overBudgetKind) return 'names what stands where a payload took too much work';
  return ownKind.test(name) ? null : 'must be 1 to 40 of a-z, 0-9 and _, and begin with a letter';
}
