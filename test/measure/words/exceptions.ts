// Reads exceptions.yaml: where a listed word may stand, and why. Called by main.ts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { isRecord } from '../../support/checkout/tree.ts';

export interface WordException {
  readonly reason: string;
  readonly files: readonly string[];
  /** Null: nothing of these files counts. */
  readonly texts: readonly string[] | null;
}

const path = fileURLToPath(new URL('exceptions.yaml', import.meta.url));

export const readExceptions = (): readonly WordException[] => parseExceptions(readFileSync(path, 'utf8'));

export function parseExceptions(text: string): readonly WordException[] {
  const rows: unknown = parse(text);
  if (!Array.isArray(rows)) throw new Error('exceptions.yaml is not a list');
  return rows.map((row: unknown, at) => {
    if (!isRecord(row) || typeof row['reason'] !== 'string') throw new Error(`exceptions.yaml: item ${at + 1} has no \`reason\``);
    const { reason, files, texts = null } = row;
    if (!isTexts(files)) throw new Error(`exceptions.yaml: \`files\` of "${reason}" must be a list of texts, at least one`);
    if (texts !== null && !isTexts(texts))
      throw new Error(`exceptions.yaml: \`texts\` of "${reason}" must be a list of texts, at least one`);
    return { reason, files, texts };
  });
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && one !== '');

/** A function for each file with exceptions: it removes from a text what does not count. */
export function createRemoveExceptions(exceptions: readonly WordException[]): (path: string, text: string) => string {
  const byFile = new Map<string, readonly string[] | null>();
  for (const { files, texts } of exceptions) {
    for (const file of files) {
      const before = byFile.get(file);
      byFile.set(file, before === null || texts === null ? null : [...(before ?? []), ...texts]);
    }
  }
  return (file, text) => {
    const texts = byFile.get(file);
    if (texts === null) return '';
    return (texts ?? []).reduce((left, one) => left.replaceAll(patternOf(one), '.'), text);
  };
}

/** As a whole word, with these letters. */
const patternOf = (text: string): RegExp => new RegExp(`(?<![\\w])${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w])`, 'g');

/** What stands in no file any more: `file: text`, or the file alone. */
export function listUnused(exceptions: readonly WordException[], read: (path: string) => string | null): readonly string[] {
  return exceptions.flatMap(({ files, texts }) =>
    files.flatMap((file) => {
      const content = read(file);
      if (content === null) return [`${file} does not exist`];
      return (texts ?? []).filter((text) => content.search(patternOf(text)) < 0).map((text) => `${file}: ${text}`);
    }),
  );
}
