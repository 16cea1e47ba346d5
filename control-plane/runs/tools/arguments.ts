// Whether a call's input fits the schema of its tool, found out before the decision.
import { isObject } from '../../domain/shape.ts';
import type { SchemaProblem } from './schema-problem.ts';

/** In words for the model; they quote no value of its own. Null: nothing is wrong. */
export type ArgumentsProblem = (inputSchema: Readonly<Record<string, unknown>>, input: unknown) => string | null;

const whole = 'the arguments';

export const createArgumentsProblem =
  (schemaProblem: SchemaProblem): ArgumentsProblem =>
  (inputSchema, input) =>
    isObject(input) ? schemaProblem(inputSchema, input, whole) : `${whole} must be a JSON object`;
