// Reads policy documents from YAML and JSON files and merges them section by section. A document may be in one file
// only. All problems are reported together, with file, line and column.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { isRow, type Row } from '../api/answer.ts';
import { Failure } from '../failure.ts';
import { parsePolicyText } from './policy-text.ts';

const fileBytesMax = 4 * 1024 * 1024;
const filesMax = 1_000;

/**
 * Reads the files and returns their sections in the form that `policies/apply` accepts. `paths`: files, folders, and
 * `-` for standard input.
 */
export async function readPolicies(paths: readonly string[], stdin: Readable): Promise<Row> {
  const names = (await Promise.all(paths.map(filesAt))).flat();
  if (names.length > filesMax) throw new Failure(`there are ${names.length} policy files, but at most ${filesMax} are allowed`);
  const problems: string[] = [];
  const merged = createMerge(problems);
  for (const name of names) {
    const text = name === '-' ? await readAll(stdin) : await readFile(name, 'utf8').catch(unreadable(name));
    const file = name === '-' ? 'standard input' : name;
    if (text.length > fileBytesMax) throw new Failure(`${file} is larger than 4 MiB`);
    const parsed = await parsePolicyText(file, text);
    if ('problems' in parsed) problems.push(...parsed.problems);
    else merged.add(file, parsed.value);
  }
  const [first] = problems;
  if (first !== undefined) throw problems.length === 1 ? new Failure(first) : new Failure('the policy files have problems', problems);
  return merged.value;
}

/** Merges the contents of files. Adds a problem for each document that is in two files. */
function createMerge(problems: string[]) {
  const value: Record<string, unknown> = {};
  const from = new Map<string, string>();
  const claim = (document: string, file: string): void => {
    const other = from.get(document);
    if (other !== undefined) problems.push(`${document} is in both ${other} and ${file}; keep one`);
    from.set(document, file);
  };
  const add = (file: string, content: Row): void => {
    for (const [section, documents] of Object.entries(content)) {
      if (section === 'workspacePolicy') {
        claim(section, file);
        value[section] = documents;
      } else if (!isRow(documents)) {
        problems.push(`${file}: ${section} must be a mapping; if it is empty, write {}`);
      } else {
        for (const name of Object.keys(documents)) claim(`${section}/${name}`, file);
        const before = value[section];
        value[section] = { ...(isRow(before) ? before : {}), ...documents };
      }
    }
  };
  return { value, add };
}

/**
 * Returns the path of a file as it is. For a folder, returns the paths of the YAML and JSON files in it and its
 * subfolders, sorted by name.
 */
async function filesAt(path: string): Promise<readonly string[]> {
  if (path === '-') return [path];
  const found = await stat(path).catch(unreadable(path));
  if (!found.isDirectory()) return [path];
  const names = await readdir(path, { recursive: true });
  const files = names.filter((name) => /\.(?:ya?ml|json)$/i.test(name) && !name.split(/[/\\]/).some((part) => part.startsWith('.')));
  if (files.length === 0) throw new Failure(`${path} contains no .yaml, .yml or .json file`);
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
