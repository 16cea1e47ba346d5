// Why a control plane takes nothing of a spool: the codes of `Refused` in `tollgate/v1/audit.proto`.
export const refusedCodes = [
  /** The spool was begun with another secret. */
  'wrong_secret',
  /** The spool was begun for another workspace, perhaps one of the same slug that was deleted. */
  'other_workspace',
  /** Records before it have not come, and nothing says that they are lost. */
  'hole',
  /** A record that was taken in before came again with other bytes. */
  'conflict',
  /** The batch has not the form that the contract asks for. */
  'malformed',
] as const;

export type RefusedCode = (typeof refusedCodes)[number];

export const isRefusedCode = (code: string): code is RefusedCode => (refusedCodes as readonly string[]).includes(code);
