// Rules with cases, compiled from the texts of their conditions as a control plane compiles them.
import type { CompiledCase, Rule } from '@tollgate/proto/contract';
import { readCondition } from '../../sidecar/engine/compile/condition.ts';

type CaseFields = Omit<CompiledCase, 'name' | 'when'>;

/** A case that holds when the condition holds, and denies by default. */
export function caseOf(when: string, fields: CaseFields = { permission: 'deny' }, name = 'case'): CompiledCase {
  const read = readCondition(when);
  if ('problem' in read) throw new Error(`${when}: ${JSON.stringify(read.problem)}`);
  return { name, when: read.expression, ...fields };
}

/** A rule that denies where the condition holds, or cannot be evaluated. */
export const denyWhen = (when: string): Rule => ({ permission: 'allow', cases: [caseOf(when)] });
