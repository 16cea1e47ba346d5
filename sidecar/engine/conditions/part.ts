// Defines a compiled node of a condition.
import type { Environment } from './environment.ts';

export type Evaluate = (env: Environment) => unknown;

/** A compiled node. */
export interface Part {
  /** Returns the value, or an `Undecided`. */
  readonly evaluate: Evaluate;
  /** Whether its value may come from the input: then comparisons with other types are undecided. */
  readonly fromInput: boolean;
  readonly nodes: number;
  /** Its value, if that is the same in every call. */
  readonly constant?: { readonly value: unknown };
}

/** An expression that this version does not understand. The message continues a sentence that begins with its place. */
export class InvalidExpression extends Error {}

export const constant = (value: unknown, nodes = 1): Part => ({
  evaluate: () => value,
  fromInput: false,
  nodes,
  constant: { value },
});

/** The nodes of a part with these operands. */
export function nodesOf(parts: readonly Part[]): number {
  let nodes = 1;
  for (const part of parts) nodes += part.nodes;
  return nodes;
}
