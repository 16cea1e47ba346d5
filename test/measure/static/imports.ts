// The imports of a source file, as written: imports and re-exports, also of types, and `import()` as an expression and
// as a type. Called by structure.ts.
import { isNode, type Syntax, walk } from './syntax.ts';

export interface Specifier {
  readonly from: string;
  /** Nothing is loaded for it at run time. */
  readonly typesOnly: boolean;
}

export function listImports(syntax: Syntax): readonly Specifier[] {
  const { staticImports, staticExports, dynamicImports } = syntax.module;
  const found: Specifier[] = staticImports.map(({ start, moduleRequest, entries }) => ({
    from: moduleRequest.value,
    typesOnly: entries.length > 0 ? entries.every(({ isType }) => isType) : syntax.text.startsWith('import type', start),
  }));
  for (const { entries } of staticExports)
    for (const { moduleRequest, isType } of entries)
      if (moduleRequest !== null) found.push({ from: moduleRequest.value, typesOnly: isType });
  for (const { moduleRequest } of dynamicImports) {
    const written = /^(['"`])([^'"`$]+)\1$/.exec(syntax.text.slice(moduleRequest.start, moduleRequest.end))?.[2];
    // A computed path names no file here.
    if (written !== undefined) found.push({ from: written, typesOnly: false });
  }
  walk(syntax.program, (node) => {
    if (node.type !== 'TSImportType' || !isNode(node['source'])) return;
    found.push({ from: String(node['source']['value']), typesOnly: true });
  });
  return found;
}
