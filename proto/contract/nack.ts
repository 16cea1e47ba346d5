// Defines why a sidecar refuses a snapshot or a delta. It continues with what it held. After a refused delta, with any
// code, the control plane sends the whole snapshot.
export const nackCodes = [
  'schema_unsupported',
  'wrong_workspace',
  'hash_mismatch',
  // Only for a delta: it does not start from what is held.
  'wrong_base',
  'revision_backwards',
  'entry_invalid',
  'settings_missing',
  // The message could not be decoded. It cannot be answered, and the stream has ended.
  'malformed',
  'internal',
] as const;
export type NackCode = (typeof nackCodes)[number];
