// Defines the form in which a snapshot contains the condition of a case: a checked CEL expression as nested lists. The
// control plane parses the text, so that a sidecar needs no parser. Macros such as `exists` are already expanded to
// `fold`. Pure.

/**
 * A node of an expression: its kind, then its parts.
 *
 * - `var`: a variable (`args`, `tool`, `agent`, `user`, `now`), or a variable of an enclosing `fold`.
 * - `field`: `operand.name`. `has`: `has(operand.name)`.
 * - `map`: keys and values in turn.
 * - `call`: an operator or function (`docs/reference/conditions.md`); the object of a method is the first operand.
 * - `fold`: range, name of the item, name of the accumulator, its first value, condition, step, result.
 */
export type Expression =
  | readonly ['null']
  | readonly ['bool', boolean]
  /** In decimal. */
  | readonly ['int' | 'uint', string]
  /** `NaN`, `Infinity` and `-Infinity` as text. */
  | readonly ['double', number | string]
  | readonly ['string', string]
  /** In base64. */
  | readonly ['bytes', string]
  /** The name of a type, such as `string`. */
  | readonly ['type', string]
  | readonly ['var', string]
  | readonly ['field' | 'has', Expression, string]
  | readonly ['list' | 'map', ...Expression[]]
  | readonly ['call', string, ...Expression[]]
  | readonly ['fold', Expression, string, string, Expression, Expression, Expression, Expression];

export const conditionBounds = {
  /** The text of a condition, in bytes. */
  sourceBytes: 4_096,
  /** The nodes of a condition, after macros are expanded. */
  nodes: 1_000,
  /** How deep its nodes may be nested. */
  depth: 64,
  /** The cases of one rule. */
  casesInRule: 50,
  /** The cases of all documents of a workspace. */
  casesInWorkspace: 2_000,
  /** The text of the conditions of all documents of a workspace, in bytes. */
  sourceBytesInWorkspace: 262_144,
  /** The conditions of one document in the form of a snapshot, in bytes as JSON. */
  expressionBytesInDocument: 2 * 1_048_576,
  /** The cases that one call evaluates. Further cases are undecided. */
  casesInCall: 200,
  /** The name of a case, in UTF-16 code units. */
  nameLength: 64,
  /** The reason that a case gives to the agent, in UTF-16 code units. */
  reasonLength: 200,
} as const;

/** The variables that a condition may read. */
export const conditionVariables = ['args', 'tool', 'agent', 'user', 'now'] as const;
