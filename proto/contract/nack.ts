// Why a sidecar refuses a snapshot. It goes on with the one it held.
export const nackCodes = [
  'schema_unsupported',
  'wrong_workspace',
  'hash_mismatch',
  'revision_backwards',
  'entry_invalid',
  'settings_missing',
  'internal',
] as const;
export type NackCode = (typeof nackCodes)[number];
