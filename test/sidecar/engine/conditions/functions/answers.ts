// Evaluates conditions and single functions, as a decision does.
import type { Expression } from '@tollgate/proto/contract';
import { readCondition } from '../../../../../sidecar/engine/compile/condition.ts';
import { buildExpression } from '../../../../../sidecar/engine/conditions/build.ts';
import { compileCondition } from '../../../../../sidecar/engine/conditions/condition.ts';
import type { Environment } from '../../../../../sidecar/engine/conditions/environment.ts';
import { Timestamp, Undecided, type UndecidedReason } from '../../../../../sidecar/engine/conditions/values.ts';

const environmentOf = (args: unknown, now = 0): Environment => ({
  variables: { args, now: new Timestamp(BigInt(now) * 1_000_000n) },
  steps: 0,
  slots: [],
});

/** `now`: in ms since 1970. */
export function answerOf(source: string, args: unknown = {}, now?: number): boolean | UndecidedReason {
  const read = readCondition(source);
  if ('problem' in read) throw new Error(`${read.problem.line}:${read.problem.column} ${read.problem.message}`);
  const answer = compileCondition(read.expression).evaluate(environmentOf(args, now));
  return answer instanceof Undecided ? answer.reason : answer;
}

/** Returns what is wrong with a condition when it is written. */
export function problemOf(source: string): string | null {
  const read = readCondition(source);
  return 'problem' in read ? read.problem.message : null;
}

/** Returns the value of a function of `args.x`, or of a field of its result. */
export function resultOf(name: string, x: unknown, field?: string): unknown {
  const call: Expression = ['call', name, ['field', ['var', 'args'], 'x']];
  const { evaluate } = buildExpression(field === undefined ? call : ['field', call, field], new Map([['args', true]]));
  const value = evaluate(environmentOf({ x }));
  return value instanceof Undecided ? undecided : value;
}

export const undecided = Symbol('undecided');
