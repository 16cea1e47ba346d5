// The functions of a source file with their lengths: declarations, expressions, arrows and methods. Called by
// structure.ts.
import { createLineOf, isNode, type Node, type Syntax, walk } from './syntax.ts';

export interface MeasuredFunction {
  readonly path: string;
  readonly name: string;
  /** Its first line, from 1. */
  readonly line: number;
  /** From its first line to its last line. */
  readonly lines: number;
}

const kinds = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']);

export function listFunctions(syntax: Syntax): readonly MeasuredFunction[] {
  const found: MeasuredFunction[] = [];
  const lineOf = createLineOf(syntax.text);
  walk(syntax.program, (node, above) => {
    if (!kinds.has(node.type)) return;
    const parent = above.at(-1);
    // A method begins with its name, while its function begins with the parenthesis.
    const begins = parent !== undefined && isMethod(parent, node) ? parent : node;
    const line = lineOf(begins.start);
    found.push({ path: syntax.path, name: nameOf(node, above, syntax.text), line, lines: lineOf(node.end - 1) - line + 1 });
  });
  return found;
}

const isMethod = (parent: Node, node: Node): boolean =>
  parent['value'] === node && (parent.type === 'MethodDefinition' || (parent.type === 'Property' && parent['method'] === true));

function nameOf(node: Node, above: readonly Node[], text: string): string {
  const parent = above.at(-1);
  const own = textOf(node['id'], text);
  if (own !== null || parent === undefined) return own ?? '(anonymous)';
  if (parent.type === 'VariableDeclarator') return textOf(parent['id'], text) ?? '(anonymous)';
  if (parent['value'] === node) return textOf(parent['key'], text) ?? '(anonymous)';
  if (parent.type === 'AssignmentExpression') return textOf(parent['left'], text) ?? '(anonymous)';
  if (parent.type === 'CallExpression' || parent.type === 'NewExpression')
    return `argument of ${textOf(parent['callee'], text) ?? 'a call'}`;
  return parent.type === 'ExportDefaultDeclaration' ? 'default' : '(anonymous)';
}

function textOf(node: unknown, text: string): string | null {
  if (!isNode(node)) return null;
  const [first = ''] = text.slice(node.start, node.end).split('\n');
  return first.length > 40 ? `${first.slice(0, 40)}…` : first;
}
