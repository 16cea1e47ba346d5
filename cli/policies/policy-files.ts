// Reads policy documents from YAML and JSON files and merges them section by section. A document may be in one file
// only. All problems are reported together, with file, line and column.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { isRow, type Row } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import { keysIn, parsePolicyText, type PlacedText } from './policy-text.ts';

const fileBytesMax = 4 * 1024 * 1024;
const filesMax = 1_000;

const testName = /\.test\.(?:ya?ml|json)$/i;
/** What is read of a folder: policies, or the tests of policies next to them. */
const kinds = {
  policy: { isWanted: (name: string) => !testName.test(name), words: '.yaml, .yml or .json file' },
  test: { isWanted: (name: string) => testName.test(name), words: '.test.yaml, .test.yml or .test.json file' },
} as const;

/**
 * Reads the files and returns their sections in the form that `policies/apply` accepts. `paths`: files, folders, and
 * `-` for standard input.
 */
export async function readPolicies(paths: readonly string[], stdin: Readable): Promise<Row> {
  const read = await readPolicySet(paths, stdin);
  if (!('problems' in read)) return read.value;
  const [first = ''] = read.problems;
  throw read.problems.length === 1 ? new Failure(first) : new Failure('the policy files have problems', read.problems);
}

/** As `readPolicies`, with the places of the documents. Returns the problems of all files instead of throwing them. */
export async function readPolicySet(
  paths: readonly string[],
  stdin: Readable,
): Promise<PlacedText | { readonly problems: readonly string[] }> {
  const names = await findFiles(paths, 'policy');
  const problems: string[] = [];
  const merged = createMerge(problems);
  for (const name of names) {
    const file = name === '-' ? 'standard input' : name;
    const parsed = await parsePolicyText(file, name === '-' ? await readAll(stdin) : await readText(name));
    if ('problems' in parsed) problems.push(...parsed.problems);
    else merged.add(file, parsed);
  }
  return problems.length > 0 ? { problems } : { value: merged.value, placeOf: merged.placeOf };
}

/** Reads a file. Throws a Failure if it cannot be read, or is too large. */
export async function readText(name: string): Promise<string> {
  const text = await readFile(name, 'utf8').catch(unreadable(name));
  if (text.length > fileBytesMax) throw new Failure(`${name} is larger than 4 MiB`);
  return text;
}

/** Merges the contents of files. Adds a problem for each document that is in two files. */
function createMerge(problems: string[]) {
  const value: Record<string, unknown> = {};
  const from = new Map<string, { readonly file: string; readonly placeOf: PlacedText['placeOf'] }>();
  const claim = (document: string, file: string, placeOf: PlacedText['placeOf']): void => {
    const other = from.get(document);
    if (other !== undefined) problems.push(`${document} is in both ${other.file} and ${file}; keep one`);
    from.set(document, { file, placeOf });
  };
  const add = (file: string, { value: content, placeOf }: PlacedText): void => {
    for (const [section, documents] of Object.entries(content)) {
      if (section === 'workspacePolicy') {
        claim(section, file, placeOf);
        value[section] = documents;
      } else if (!isRow(documents)) {
        problems.push(`${file}: ${section} must be a mapping; if it is empty, write {}`);
      } else {
        for (const name of Object.keys(documents)) claim(`${section}/${name}`, file, placeOf);
        const before = value[section];
        value[section] = { ...(isRow(before) ? before : {}), ...documents };
      }
    }
  };
  const placeOf = (path: string): string => {
    const [section, name] = keysIn(path);
    return (from.get(String(section)) ?? from.get(`${section}/${name}`))?.placeOf(path) ?? 'the policy files';
  };
  return { value, add, placeOf };
}

/**
 * Returns the path of a file as it is. For a folder, returns the paths of the files of this kind in it and its
 * subfolders, sorted by name.
 */
export async function findFiles(paths: readonly string[], kind: keyof typeof kinds): Promise<readonly string[]> {
  const names = (await Promise.all(paths.map((path) => filesAt(path, kind)))).flat();
  if (names.length > filesMax) throw new Failure(`there are ${names.length} ${kind} files, but at most ${filesMax} are allowed`);
  return names;
}

async function filesAt(path: string, kind: keyof typeof kinds): Promise<readonly string[]> {
  if (path === '-') return [path];
  const found = await stat(path).catch(unreadable(path));
  if (!found.isDirectory()) return [path];
  const { isWanted, words } = kinds[kind];
  const names = await readdir(path, { recursive: true });
  const files = names.filter(
    (name) => /\.(?:ya?ml|json)$/i.test(name) && isWanted(name) && !name.split(/[/\\]/).some((part) => part.startsWith('.')),
  );
  if (files.length === 0) throw new Failure(`${path} contains no ${words}`);
  return files.toSorted().map((name) => join(path, name));
}

const unreadable =
  (path: string) =>
  (error: unknown): never => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new Failure(code === 'ENOENT' ? `there is no file ${path}` : `${path} cannot be read (${code})`, [], error);
  };

/** Reads standard input. Throws a Failure if it is larger than `fileBytesMax`. */
export async function readAll(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > fileBytesMax) throw new Failure('standard input is larger than 4 MiB');
    chunks.push(bytes);
  }
  return Buffer.concat(chunks).toString('utf8');
}
