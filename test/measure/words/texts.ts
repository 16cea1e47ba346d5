// Splits a file into the texts that people wrote, by kind: comments, strings, identifiers, test names, documents,
// comments of scripts, texts of data. Called by count.ts.
import { extname, posix } from 'node:path';
import type { Comment } from 'oxc-parser';
import { isNode, type Node, parseSource, walk } from '../static/syntax.ts';
import { isCode, isGenerated, type Tree } from '../../support/checkout/tree.ts';
import { listOtherPieces } from './comments.ts';

export const kinds = ['comments', 'strings', 'identifiers', 'testNames', 'documents', 'scripts', 'texts', 'fileNames'] as const;
export type Kind = (typeof kinds)[number];

export const kindsDefinition =
  'comments: of code, .proto and .sql; strings: of code, without paths of imports; identifiers: of code, each place; tests: names given to ' +
  'test, it, describe and suite; docs: Markdown, all of it; scripts: comments of shell, YAML, Python, templates and image files; texts: the rest of those, JSON and .txt; names: of files and folders. ' +
  'Not counted: generated code, and the exceptions of test/measure/words/exceptions.yaml.';

export interface Piece {
  readonly kind: Kind;
  readonly text: string;
}

export function listPieces(tree: Tree, path: string): readonly Piece[] {
  const name: Piece = { kind: 'fileNames', text: posix.basename(path) };
  if (isGenerated(tree, path)) return [];
  if (isCode(path)) return [name, ...piecesOfCode(path, tree.read(path))];
  if (extname(path) === '.md') return [name, { kind: 'documents', text: tree.read(path) }];
  return [name, ...listOtherPieces(path, () => tree.read(path))];
}

function piecesOfCode(path: string, text: string): readonly Piece[] {
  const { program, comments } = parseSource(path, text);
  const pieces: Piece[] = joinComments(comments, text).map((comment) => ({ kind: 'comments', text: comment }));
  const paths = new Set<unknown>();
  const testNames = new Set<unknown>();
  const seen = new Set<number>();
  walk(program, (node, above) => {
    if (node.type === 'CallExpression' && isTestCall(node)) for (const one of namesOf(node)) testNames.add(one);
    // The path of an import names a file, which is counted at its own place.
    if (node.type !== 'Literal' && isNode(node['source'])) paths.add(node['source']);
    const written = textOf(node);
    if (written === null || paths.has(node)) return;
    if (!isIdentifier(node)) return void pieces.push({ kind: testNames.has(node) ? 'testNames' : 'strings', text: written });
    // `{ name }` is two nodes at one position.
    if (!seen.has(node.start) && above.length > 0) pieces.push({ kind: 'identifiers', text: written });
    seen.add(node.start);
  });
  return pieces;
}

/** Comments with only space between them are one text, so that a phrase across a line end is found. */
function joinComments(comments: readonly Comment[], text: string): readonly string[] {
  const joined: string[] = [];
  let end = 0;
  for (const comment of comments) {
    const before = text.slice(end, comment.start).trim() === '' ? joined.pop() : undefined;
    joined.push(before === undefined ? comment.value : `${before}\n${comment.value}`);
    end = comment.end;
  }
  return joined;
}

const isIdentifier = ({ type }: Node): boolean => type === 'Identifier' || type === 'PrivateIdentifier' || type === 'JSXIdentifier';

function textOf(node: Node): string | null {
  if (isIdentifier(node)) return String(node['name']);
  if (node.type === 'Literal' || node.type === 'JSXText') return typeof node['value'] === 'string' ? node['value'] : null;
  const { value } = node;
  if (node.type !== 'TemplateElement' || typeof value !== 'object' || value === null) return null;
  return 'cooked' in value && typeof value.cooked === 'string' ? value.cooked : '';
}

/** `test(…)`, `test.skip(…)`, `test.each(…)(…)`, `` test.each`…`(…) ``. */
function isTestCall(call: Node): boolean {
  let callee: unknown = call['callee'];
  while (isNode(callee) && callee.type !== 'Identifier') callee = callee['object'] ?? callee['callee'] ?? callee['tag'];
  return isNode(callee) && /^(?:test|it|describe|suite)$/.test(String(callee['name']));
}

function namesOf(call: Node): readonly unknown[] {
  const [first] = Array.isArray(call['arguments']) ? call['arguments'] : [];
  if (!isNode(first)) return [];
  return first.type === 'TemplateLiteral' && Array.isArray(first['quasis']) ? first['quasis'] : [first];
}
