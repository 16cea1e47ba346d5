// Reads words.yaml: the list of words that are counted. Called by main.ts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { isRecord } from '../../support/checkout/tree.ts';

export interface ListedWord {
  readonly word: string;
  readonly forms: readonly string[];
  /** Phrases in which the word does not count. */
  readonly except: readonly string[];
}

const path = fileURLToPath(new URL('words.yaml', import.meta.url));

export const readWords = (): readonly ListedWord[] => parseWords(readFileSync(path, 'utf8'));

export function parseWords(text: string): readonly ListedWord[] {
  const rows: unknown = parse(text);
  if (!Array.isArray(rows)) throw new Error('words.yaml is not a list');
  return rows.map((row: unknown, at) => {
    if (!isRecord(row) || typeof row['word'] !== 'string') throw new Error(`words.yaml: item ${at + 1} has no \`word\``);
    const { word, forms, except = [] } = row;
    if (!isTexts(forms) || forms.length === 0) throw new Error(`words.yaml: \`forms\` of ${word} must be a list of texts, at least one`);
    if (!isTexts(except)) throw new Error(`words.yaml: \`except\` of ${word} must be a list of texts`);
    return { word, forms, except };
  });
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '');
