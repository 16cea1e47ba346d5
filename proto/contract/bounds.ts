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
  policySetNodes: 600_000,
  nameLength: 200,
  toolKeysInDocument: 10_000,
  /** What of a tool's output is looked at, as JSON. */
  toolOutputBytes: 8 * 1_048_576,
  toolOutputNodes: 800_000,
  /** A body that brings an output with its call. */
  outputBodyBytes: 9 * 1_048_576,
  /** What a model gets of a tool's output in a run of the control plane. */
  modelOutputBytes: 200 * 1024,
  /** What an entry keeps of a tool's input. */
  auditInputBytes: 8 * 1024,
  auditEntryBytes: 64 * 1024,
  delegationDepth: 16,
  grpcMessageBytes: 64 * 1024 * 1024,
  /** One compiled entry of a snapshot: what a body may hold, with room for how it is written down. */
  snapshotEntryBytes: 4 * 1_048_576,
  /** What a sidecar says of a snapshot that it refuses. */
  nackMessageLength: 500,
  auditBatchRecords: 1_000,
  auditBatchBytes: 1_048_576,
  auditCreditRecords: 4_000,
  /** How long a grant of a rate limit lives, from when it was asked for. */
  leaseMs: 2_000,
  /** How long a call waits for a lease that has run dry. */
  leaseWaitMs: 250,
  /** How long `tollgate hook` waits for an answer, which is less than any coding agent waits for it. */
  hookMs: 4_000,
  /** Counters in one message of asks, and grants that one ask settles. */
  leaseAsks: 1_000,
  leaseSettled: 100,
  /** A sidecar says no oftener how it is. */
  statusMs: 2_000,
  heartbeatMs: 1_000,
  /** How long a sidecar may take to say whether it takes a policy. */
  answerMs: 60_000,
  /** How long a policy stream stays with one control plane, ± 10 %. */
  moveMs: 30 * 60_000,
  /** `unreachable`: the longest where nobody answers at the address. */
  reconnectMs: { first: 100, max: 30_000, unreachable: 750 },
  /** Far enough for a clock that is badly set, near enough that a partition exists. */
  auditFutureMs: 24 * 3_600_000,
} as const;
