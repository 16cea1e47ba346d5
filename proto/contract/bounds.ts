// Every maximum that both programs or a caller must know. Sizes are in bytes unless the name says otherwise.
export const bounds = {
  bodyBytes: 1_048_576,
  /**
   * The maximum length of a whole input as canonical JSON, in characters: a body of the maximum size, and the fields
   * around it.
   */
  payloadCharacters: 1_048_576 + 65_536,
  jsonDepth: 64,
  jsonNodes: 100_000,
  /** The maximum of one policy document, as JSON. */
  documentBytes: 1_048_576,
  /** The maximum of a body that contains a whole set of policy documents. */
  policySetBytes: 16 * 1_048_576,
  policySetNodes: 600_000,
  nameLength: 200,
  toolKeysInDocument: 10_000,
  /** The largest tool output that is examined, as JSON. */
  toolOutputBytes: 8 * 1_048_576,
  toolOutputNodes: 800_000,
  /** The maximum of a body that contains a call and the output of this call. */
  outputBodyBytes: 9 * 1_048_576,
  /** How much of a tool's output a model receives, in a run of the control plane. */
  modelOutputBytes: 200 * 1024,
  /** How much of a tool's input an entry stores. */
  auditInputBytes: 8 * 1024,
  auditEntryBytes: 64 * 1024,
  delegationDepth: 16,
  grpcMessageBytes: 64 * 1024 * 1024,
  /** The maximum of one compiled entry of a snapshot. It is the maximum of a body, with a margin for the encoding. */
  snapshotEntryBytes: 4 * 1_048_576,
  /** The maximum length of the message with which a sidecar refuses a snapshot. */
  nackMessageLength: 500,
  auditBatchRecords: 1_000,
  auditBatchBytes: 1_048_576,
  auditCreditRecords: 4_000,
  /** The lifetime of a grant of a rate limit. It begins when the sidecar asks for the grant. */
  leaseMs: 2_000,
  /** How long a call waits for a lease that has no calls left. */
  leaseWaitMs: 250,
  /** How long `tollgate hook` waits for an answer. This is less than any coding agent waits for the hook. */
  hookMs: 4_000,
  /**
   * `leaseAsks`: the maximum number of counters in one message of asks. `leaseSettled`: the maximum number of grants
   * that one ask settles.
   */
  leaseAsks: 1_000,
  leaseSettled: 100,
  /** The minimum interval between status reports of a sidecar. */
  statusMs: 2_000,
  heartbeatMs: 1_000,
  /** The maximum time for a sidecar to answer whether it accepts a policy. */
  answerMs: 60_000,
  /** How long a policy stream stays with one control plane, ± 10 %. */
  moveMs: 30 * 60_000,
  /** `unreachable`: the longest wait if nothing answers at the address. */
  reconnectMs: { first: 100, max: 30_000, unreachable: 750 },
  /**
   * How far in the future the time of an entry may be. It permits a clock that is badly set. It is small enough that a
   * database partition exists for each permitted time.
   */
  auditFutureMs: 24 * 3_600_000,
} as const;

/**
 * The bounds of an agent's caps. The caps after a PATCH must be within them. Every cap of a snapshot is within them.
 */
export const capBounds = {
  maxToolCalls: { min: 1, max: 10_000 },
  maxBudgetCents: { min: 0, max: 1_000_000 },
  maxDurationMs: { min: 1_000, max: 86_400_000 },
  maxToolRounds: { min: 1, max: 1_000 },
} as const;
