// Defines the codes with which a sidecar refuses a snapshot or a delta. The sidecar continues with the policy that it
// already holds. If it refuses a delta, the control plane sends the whole snapshot, whatever the code is.
export const nackCodes = [
  'schema_unsupported',
  'wrong_workspace',
  'hash_mismatch',
  // Only for a delta: it is not based on the policy that the sidecar holds.
  'wrong_base',
  'revision_backwards',
  'entry_invalid',
  'settings_missing',
  // The message could not be decoded. It cannot be answered, and the stream has ended.
  'malformed',
  'internal',
] as const;
export type NackCode = (typeof nackCodes)[number];
