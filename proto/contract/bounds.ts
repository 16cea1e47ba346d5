// Every maximum that both programs or a caller must know. Sizes are bytes unless the name says otherwise.
export const bounds = {
  bodyBytes: 1_048_576,
  /** A whole body and what stands around it, as canonical JSON; in characters. */
  payloadCharacters: 1_048_576 + 65_536,
  jsonDepth: 64,
  jsonNodes: 100_000,
  /** One policy document, as JSON. */
  documentBytes: 1_048_576,
  /** A body that is a whole set of them. */
  policySetBytes: 16 * 1_048_576,
  policySetNodes: 2_000_000,
  nameLength: 200,
  toolKeysInDocument: 10_000,
  toolOutputBytes: 200 * 1024,
  /** What an entry keeps of a tool's input. */
  auditInputBytes: 8 * 1024,
  auditEntryBytes: 64 * 1024,
  delegationDepth: 16,
  grpcMessageBytes: 64 * 1024 * 1024,
  auditBatchRecords: 1_000,
  auditBatchBytes: 1_048_576,
  auditCreditRecords: 4_000,
  heartbeatMs: 1_000,
  /** How long a policy stream stays with one control plane, ± 10 %. */
  moveMs: 30 * 60_000,
  reconnectMs: { first: 100, max: 30_000 },
  /** Far enough for a clock that is badly set, near enough that a partition exists. */
  auditFutureMs: 24 * 3_600_000,
} as const;
