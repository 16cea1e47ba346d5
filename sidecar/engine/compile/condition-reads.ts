// Finds what a condition reads, so that a policy can be compared with the schemas of tools when it is written.
import type { Expression } from '@tollgate/proto/contract';
import { readCondition } from './condition.ts';

/** The names of fields from a variable on. Null: any element of a list. */
export type ReadPath = readonly (string | null)[];

export interface ConditionReads {
  /** Paths inside `args`, each once. */
  readonly args: readonly ReadPath[];
  /** Fields of the other variables, each once, for example `agent.name`. */
  readonly fields: readonly string[];
}

/** The variables of the loops around a node, with the paths of their values. Null: the path is not known. */
type Bound = ReadonlyMap<string, ReadPath | null>;

/** Null: the text is no condition. */
export function conditionReads(source: string): ConditionReads | null {
  const read = readCondition(source);
  if ('problem' in read) return null;
  const paths = new Map<string, ReadPath>();
  visit(read.expression, new Map(), (path) => paths.set(JSON.stringify(path), path));
  const all = [...paths.values()];
  const fields = all.flatMap(([variable, field]) => (variable === 'args' || field == null ? [] : [`${variable}.${field}`]));
  return {
    args: all.flatMap(([variable, ...path]) => (variable === 'args' && path.length > 0 ? [path] : [])),
    fields: [...new Set(fields)],
  };
}

function visit(node: Expression, bound: Bound, found: (path: ReadPath) => void): void {
  const path = pathOf(node, bound);
  if (path !== null) return found(path);
  switch (node[0]) {
    case 'field':
    case 'has':
      return visit(node[1], bound, found);
    case 'list':
    case 'map':
      return node.slice(1).forEach((part) => typeof part !== 'string' && visit(part, bound, found));
    case 'call':
      return node.slice(2).forEach((part) => typeof part !== 'string' && visit(part, bound, found));
    case 'fold': {
      const [, of, item, result, first, condition, step, last] = node;
      visit(of, bound, found);
      visit(first, bound, found);
      const range = pathOf(of, bound);
      const inner = new Map([...bound, [item, range === null ? null : [...range, null]] as const, [result, null] as const]);
      for (const part of [condition, step, last]) visit(part, inner, found);
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Null: the node is no chain of fields from a variable on. */
function pathOf(node: Expression, bound: Bound): ReadPath | null {
  switch (node[0]) {
    case 'var':
      return bound.has(node[1]) ? (bound.get(node[1]) ?? null) : [node[1]];
    case 'field':
    case 'has': {
      const of = pathOf(node[1], bound);
      return of === null ? null : [...of, node[2]];
    }
    case 'call': {
      const [, name, of, key] = node;
      const step = name !== 'index' || key === undefined ? undefined : key[0] === 'string' ? key[1] : key[0] === 'int' ? null : undefined;
      const path = step === undefined || of === undefined ? null : pathOf(of, bound);
      return path === null || step === undefined ? null : [...path, step];
    }
    default:
      return null;
  }
}
