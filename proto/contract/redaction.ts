// Defines what redaction finds, which text replaces a finding, and how a workspace adapts redaction. The engine is
// `sidecar/engine/redact`.

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

/** The kinds that are searched for by default. */
export const redactionKinds = [...secretKinds, ...personalKinds] as const;
export type RedactionKind = (typeof redactionKinds)[number];

export const isRedactionKind = (value: unknown): value is RedactionKind => (redactionKinds as readonly unknown[]).includes(value);

/** How a workspace adapts redaction. It is part of the settings in the snapshot. Lists are sorted. */
export interface CompiledRedaction {
  /** Kinds that are not searched for. */
  readonly off: readonly RedactionKind[];
  /** The workspace's own kinds: RE2 patterns by name. */
  readonly patterns: readonly (readonly [string, string])[];
  /** SHA-256 in hex of values that are kept unchanged. */
  readonly allow: readonly string[];
  /**
   * For each tool name or wildcard, the kinds that are not redacted in calls of the tool. The workspace's own kinds can
   * be included.
   */
  readonly exceptions: readonly (readonly [string, readonly string[]])[];
}

/** The value for a workspace that does not adapt redaction. */
export const plainRedaction: CompiledRedaction = { off: [], patterns: [], allow: [], exceptions: [] };

/**
 * The kind of a finding if a payload was replaced as a whole, because searching it would have required too much work.
 */
export const overBudgetKind = 'over_budget';

/** The maximum numbers of patterns, allowed values and exceptions in a workspace. */
export const redactionBounds = { patterns: 50, allow: 1_000, exceptions: 1_000 } as const;

const ownKind = /^[a-z][a-z0-9_]{0,39}$/;

/** Returns why a text cannot be the name of a workspace's own kind. Null: it can be the name. */
export function ownKindProblem(name: string): string | null {
  if (isRedactionKind(name)) return 'names a kind that is built in';
  if (name === overBudgetKind) return 'names what stands where a payload took too much work';
  return ownKind.test(name) ? null : 'must be 1 to 40 of a-z, 0-9 and _, and begin with a letter';
}
