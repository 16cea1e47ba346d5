// Why a sidecar refuses a snapshot or a delta. It goes on with what it held. Whatever the code, a delta that was refused is
// followed by the whole.
export const nackCodes = [
  'schema_unsupported',
  'wrong_workspace',
  'hash_mismatch',
  // Of a delta: it does not start from what is held.
  'wrong_base',
  'revision_backwards',
  'entry_invalid',
  'settings_missing',
  // It could not even be decoded: there is no answering it, and the stream has ended.
  'malformed',
  'internal',
] as const;
export type NackCode = (typeof nackCodes)[number];
