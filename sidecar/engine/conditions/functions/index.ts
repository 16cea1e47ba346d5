// All functions that a condition can call, by name. Methods are listed with functions: their object is the first operand.
import { conversions } from './conversions.ts';
import { formatFunctions } from './format.ts';
import type { CelFunction } from './function.ts';
import { networkFunctions } from './network.ts';
import { pathFunctions } from './path.ts';
import { patternFunctions } from './pattern.ts';
import { shellFunctions } from './shell.ts';
import { textFunctions } from './texts.ts';
import { timeFunctions } from './time.ts';

export const functions: Readonly<Record<string, CelFunction>> = {
  ...textFunctions,
  ...formatFunctions,
  ...patternFunctions,
  ...conversions,
  ...timeFunctions,
  ...pathFunctions,
  ...networkFunctions,
  ...shellFunctions,
};

/** Returns what is wrong with the operands of a call that are texts in the condition itself. Null: nothing is. */
export function problemOfLiterals(name: string, literals: readonly (string | undefined)[]): string | null {
  const known = Object.hasOwn(functions, name) ? functions[name] : undefined;
  const prepared = known?.prepare?.(literals);
  return typeof prepared === 'string' ? `calls ${name} with ${prepared}` : null;
}
