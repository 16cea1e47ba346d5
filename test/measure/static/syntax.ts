// One source file as a syntax tree, and a walk through it. Called by functions.ts, imports.ts and words/texts.ts.
import { type Comment, type EcmaScriptModule, parseSync, visitorKeys } from 'oxc-parser';

/** A node of the ESTree that oxc makes; its fields depend on its type. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

export interface Syntax {
  readonly path: string;
  readonly text: string;
  readonly program: Node;
  readonly comments: readonly Comment[];
  readonly module: EcmaScriptModule;
}

/** Throws where the file is not valid TypeScript or JavaScript. */
export function parseSource(path: string, text: string): Syntax {
  const { program, comments, module, errors } = parseSync(path, text);
  const [error] = errors;
  if (error !== undefined) throw new Error(`${path} cannot be parsed: ${error.message}`);
  return { path, text, comments, module, program: program as unknown as Node };
}

/**
 * Calls `enter` for each node before its inner nodes; `above` are the outer nodes, the nearest last, and changes
 * afterwards.
 */
export function walk(root: Node, enter: (node: Node, above: readonly Node[]) => void): void {
  const above: Node[] = [];
  const visit = (node: Node): void => {
    enter(node, above);
    above.push(node);
    for (const key of visitorKeys[node.type] ?? []) {
      const child = node[key];
      for (const one of Array.isArray(child) ? child : [child]) if (isNode(one)) visit(one);
    }
    above.pop();
  };
  visit(root);
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** The number of lines of a text; a line feed at its end begins no further line. */
export const countLines = (text: string): number => (text === '' ? 0 : text.split('\n').length - Number(text.endsWith('\n')));

/** Line of an offset, from 1. */
export function createLineOf(text: string): (offset: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
}
