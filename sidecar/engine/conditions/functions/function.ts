// Defines a function that conditions can call.
import { builtLengthMax, type Environment, type Site, spend, textSteps } from '../environment.ts';

/** Computes the result. No operand is `Undecided`. It must not throw. */
export type Apply = (operands: readonly unknown[], env: Environment, site: Site) => unknown;

export interface CelFunction {
  /** The smallest and the largest number of operands. The object of a method is the first operand. */
  readonly arity: readonly [number, number];
  readonly apply: Apply;
  /**
   * Prepares a call before it is evaluated. `literals`: the operands that are texts in the condition itself. Returns a
   * text if the function cannot be called with them: what is wrong. Undefined: there is nothing to prepare.
   */
  readonly prepare?: (literals: readonly (string | undefined)[]) => Apply | string | undefined;
  /** Whether the result may be a value of the input itself. */
  readonly keepsInput?: true;
}

/** A function of one text, and of further texts. It is not called with other types, or if reading them costs too much. */
export const ofTexts = (count: number, apply: (texts: readonly string[], site: Site) => unknown): CelFunction => ({
  arity: [count, count],
  apply: (operands, env, site) => {
    const texts = operands.filter((operand) => typeof operand === 'string');
    if (texts.length < operands.length) return site.type;
    return isAffordable(texts, env) ? apply(texts, site) : site.budget;
  },
});

/** Counts the steps for reading the texts. */
export const isAffordable = (texts: readonly string[], env: Environment): boolean =>
  spend(env, textSteps(texts.reduce((sum, { length }) => sum + length, 0)));

/** Returns a text that was built, if it is not too long. */
export const built = (text: string, site: Site): unknown => (text.length > builtLengthMax ? site.budget : text);

const quotedMax = 64;

/** Returns a text of the condition for a message about it. */
export const quoted = (text: string): string => JSON.stringify(text.length > quotedMax ? `${text.slice(0, quotedMax)}…` : text);
