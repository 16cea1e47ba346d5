// Reads YAML as kubectl does: several documents in a file, YAML 1.1 (so a file mode such as 0644 is octal), and dates
// and times of day as text. Changes are made in the existing text: comments, order and style of the rest stay. A
// document with aliases is written as a new text if it changes.
import type { CreateNodeOptions, Document, DocumentOptions, ParseOptions, SchemaOptions, Tags } from 'yaml';
import type { Operation } from '@tollgate/inject';

const aliasesMax = 1_000;
const options: ParseOptions & DocumentOptions & SchemaOptions = {
  version: '1.1',
  schema: 'yaml-1.1',
  merge: true,
  uniqueKeys: true,
  prettyErrors: false,
  customTags: (tags) => tags.filter(isReadByKubectl),
};

function isReadByKubectl(tag: Tags[number]): boolean {
  return typeof tag === 'string' || (tag.tag !== 'tag:yaml.org,2002:timestamp' && !('format' in tag && tag.format === 'TIME'));
}

export interface Manifest {
  /** `file:line`. */
  readonly place: string;
  readonly value: unknown;
  /** Returns the text with these changes; `value` is the value after the changes. */
  readonly write: (changes: readonly Operation[], value: unknown) => string;
}

/** Returns every document with content, or every problem as `file:line:column: words`. */
export async function readManifests(
  file: string,
  text: string,
): Promise<{ readonly manifests: readonly Manifest[] } | { readonly problems: readonly string[] }> {
  const yaml = await import('yaml');
  const lines = new yaml.LineCounter();
  const parsed = yaml.parseAllDocuments(text, { ...options, lineCounter: lines });
  const documents = 'empty' in parsed ? [] : parsed;
  const problems = documents.flatMap(({ errors }) =>
    errors.map(({ pos, message }) => {
      const { line, col } = lines.linePos(pos[0]);
      return `${file}:${line}:${col}: ${message}`;
    }),
  );
  if (problems.length > 0) return { problems };
  const manifests: Manifest[] = [];
  for (const document of documents) {
    if (document.contents === null || (yaml.isScalar(document.contents) && document.contents.value === null)) continue;
    const place = `${file}:${lines.linePos(document.contents.range?.[0] ?? 0).line}`;
    const value = valueOf(document);
    if (value === undefined) return { problems: [`${place}: holds aliases of themselves, or that repeat too often`] };
    manifests.push({ place, value, write: (changes, after) => writeManifest(yaml, document, changes, after) });
  }
  return { manifests };
}

function valueOf(document: Document): unknown {
  try {
    // Converts the value to JSON: merges are resolved, and values that only YAML has are removed.
    return JSON.parse(JSON.stringify(document.toJS({ maxAliasCount: aliasesMax })));
  } catch {
    return undefined;
  }
}

function writeManifest(yaml: typeof import('yaml'), document: Document, changes: readonly Operation[], after: unknown): string {
  let hasAlias = false;
  yaml.visit(document, { Alias: () => ((hasAlias = true), yaml.visit.BREAK) });
  const asIs = !hasAlias || changes.length === 0;
  if (asIs) for (const change of changes) applyTo(yaml, document, change);
  const whole = asIs ? document : new yaml.Document(after, options);
  const text = whole.toString({ lineWidth: 0, directives: false, flowCollectionPadding: false });
  return `${text.replace(/\s+$/, '')}\n`;
}

const created: CreateNodeOptions = { aliasDuplicateObjects: false };

function applyTo(yaml: typeof import('yaml'), document: Document, change: Operation): void {
  const path = change.path
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const key = path.at(-1) ?? '';
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  if (!yaml.isCollection(parent))
    throw new Error(`the path of a change must be inside an existing object or list of the document, but the path ${change.path} is not`);
  // A collection that gets new content is written over several lines.
  for (let depth = 0; depth < path.length; depth += 1) {
    const around = depth === 0 ? document.contents : document.getIn(path.slice(0, depth), true);
    if (yaml.isCollection(around)) around.flow = false;
  }
  if (change.op === 'remove') {
    parent.delete(yaml.isSeq(parent) ? Number(key) : key);
    return;
  }
  const node = document.createNode(change.value, created);
  if (yaml.isSeq(parent) && change.op === 'add') parent.items.splice(Number(key), 0, node);
  else parent.set(yaml.isSeq(parent) ? Number(key) : key, node);
}
