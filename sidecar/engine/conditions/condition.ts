// A condition of a case, ready to be evaluated. Equal conditions are compiled once.
import { conditionVariables, type Expression } from '@tollgate/proto/contract';
import { buildExpression } from './build.ts';
import { type Environment, Site } from './environment.ts';
import { headersReadBy } from './headers.ts';
import type { Evaluate } from './part.ts';
import { Undecided } from './values.ts';

export interface Condition {
  /** The headers that it reads: see `headersReadBy`. */
  readonly headers: readonly string[] | null;
  /** True: the condition holds. Never throws. */
  evaluate(env: Environment): boolean | Undecided;
}

/** The variables of `conditionVariables`. Only `args` comes from the caller. */
const variables: ReadonlyMap<string, boolean> = new Map(conditionVariables.map((name) => [name, name === 'args']));

// A compiled node takes about 400 bytes. Two generations are cheaper to fill than a cache that orders its entries, and a
// snapshot with thousands of conditions is read at once.
const nodesKept = 20_000;
const byText = { recent: new Map<string, Condition>(), older: new Map<string, Condition>(), nodes: 0 };
const byExpression = new WeakMap<Expression, Condition>();

/** Compiles a condition. Throws `InvalidExpression` if this version does not understand it. */
export function compileCondition(expression: Expression): Condition {
  const known = byExpression.get(expression);
  if (known !== undefined) return known;
  const condition = compiledOf(JSON.stringify(expression), expression);
  byExpression.set(expression, condition);
  return condition;
}

function compiledOf(text: string, expression: Expression): Condition {
  const known = byText.recent.get(text) ?? byText.older.get(text);
  if (known !== undefined) return known;
  const part = buildExpression(expression, variables);
  if (byText.nodes + part.nodes > nodesKept) Object.assign(byText, { recent: new Map(), older: byText.recent, nodes: 0 });
  const condition = { headers: headersReadBy(expression), evaluate: decides(part.evaluate, new Site(expression)) };
  byText.recent.set(text, condition);
  byText.nodes += part.nodes;
  return condition;
}

/** A part throws only if the input is no JSON, for example an object whose getter throws. */
const decides =
  (evaluate: Evaluate, site: Site): Condition['evaluate'] =>
  (env) => {
    try {
      const value = evaluate(env);
      return typeof value === 'boolean' || value instanceof Undecided ? value : site.type;
    } catch {
      return site.type;
    }
  };
