// Finds the source file of a function of a built file: by its source map, else the file itself. Called by
// operations.ts.
import { existsSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { dirname, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A path from the root, with `/` between its parts. */
export type SourceOf = (scriptUrl: string, offset: number) => string;

interface Script {
  readonly path: string;
  readonly map: SourceMap | null;
  /** Line and column from 0. */
  readonly placeOf: (offset: number) => { readonly line: number; readonly column: number };
}

export function createSourceOf(root: string): SourceOf {
  const scripts = new Map<string, Script>();
  return (url, offset) => {
    const script = scripts.get(url) ?? readScript(url);
    scripts.set(url, script);
    const { path, map, placeOf } = script;
    const { line, column } = placeOf(offset);
    const entry = map?.findEntry(line, column);
    const source = entry !== undefined && 'originalSource' in entry ? resolve(dirname(path), sourcePath(entry.originalSource)) : path;
    return relative(root, source).replaceAll('\\', '/');
  };
}

const sourcePath = (source: string): string => (source.startsWith('file:') ? fileURLToPath(source) : source);

function readScript(url: string): Script {
  const path = fileURLToPath(url);
  const text = readFileSync(path, 'utf8');
  const named = /^\/\/# sourceMappingURL=(?!data:)(\S+)\s*$/m.exec(text)?.[1];
  const mapPath = named === undefined ? null : resolve(dirname(path), named);
  const map = mapPath !== null && existsSync(mapPath) ? new SourceMap(JSON.parse(readFileSync(mapPath, 'utf8'))) : null;
  const placeOf = (offset: number) => {
    const before = text.slice(0, offset);
    return { line: before.split('\n').length - 1, column: offset - (before.lastIndexOf('\n') + 1) };
  };
  return { path, map, placeOf };
}
