// Lists the reasons why a control plane accepts nothing of a spool. They are the codes of `Refused` in
// `tollgate/v1/audit.proto`.
export const refusedCodes = [
  /** The spool was started with another secret. */
  'wrong_secret',
  /** The spool was started for another workspace, possibly a deleted one with the same slug. */
  'other_workspace',
  /** Earlier records have not arrived, and they are not reported as lost. */
  'hole',
  /** A record that was already accepted arrived again with other bytes. */
  'conflict',
  /** The batch does not have the form that the contract requires. */
  'malformed',
] as const;

export type RefusedCode = (typeof refusedCodes)[number];

export const isRefusedCode = (code: string): code is RefusedCode => (refusedCodes as readonly string[]).includes(code);
