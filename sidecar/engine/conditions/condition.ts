// A condition of a case, ready to be evaluated. Equal conditions are compiled once.
import { conditionVariables, type Expression } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { buildExpression } from './build.ts';
import type { Environment } from './environment.ts';
import { headersReadBy } from './headers.ts';
import { Undecided } from './values.ts';

export interface Condition {
  /** The headers that it reads: see `headersReadBy`. */
  readonly headers: readonly string[] | null;
  /** True: the condition holds. Never throws. */
  evaluate(env: Environment): boolean | Undecided;
}

/** The variables of `conditionVariables`. Only `args` comes from the caller. */
const variables: ReadonlyMap<string, boolean> = new Map(conditionVariables.map((name) => [name, name === 'args']));

const compiledMax = 4_000;
const compiled = new LRUCache<string, Condition>({ max: compiledMax });

/** Compiles a condition. Throws `InvalidExpression` if this version does not understand it. */
export function compileCondition(expression: Expression): Condition {
  const text = JSON.stringify(expression);
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const { evaluate, path } = buildExpression(expression, variables);
  const notBoolean = new Undecided('type', path);
  const condition: Condition = {
    headers: headersReadBy(expression),
    evaluate: (env) => {
      const value = evaluate(env);
      return typeof value === 'boolean' || value instanceof Undecided ? value : notBoolean;
    },
  };
  compiled.set(text, condition);
  return condition;
}
