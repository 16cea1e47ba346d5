// Checks, before the decision, whether a call's input fits the schema of its tool.
import { isObject } from '@tollgate/proto/shape';
import type { SchemaProblem } from './schema-problem.ts';

/** Returns the problem in words for the model, without quoting values of the input. Null: no problem. */
export type ArgumentsProblem = (inputSchema: Readonly<Record<string, unknown>>, input: unknown) => string | null;

const whole = 'the arguments';

export const createArgumentsProblem =
  (schemaProblem: SchemaProblem): ArgumentsProblem =>
  (inputSchema, input) =>
    isObject(input) ? schemaProblem(inputSchema, input, whole) : `${whole} must be a JSON object`;
