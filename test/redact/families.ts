// Scores redaction on the rows of the families: what a redactor must find, or leave, for one reason each. Every family
// has a file in both parts. Half of the rows is held out and scored once, when the detectors of the families are done.
import { families, type Family, loadFamily, type Part } from './corpus.ts';
import type { Library } from './libraries.ts';
import { damageOf, recallOf, type Score, scoreRows } from './score.ts';
import { loadSizes, scoreSize, type SizeScore } from './sizes.ts';

/**
 * The families whose rows were written before their detectors. They wait for detectors that reach `recallTargets` on
 * the development part. Until then the tests expect that a family misses them, so a family that reaches them must leave
 * this list; from then on the tests hold it to them.
 */
export const awaitedFamilies: readonly Family[] = families;

/** The least share of values that must be gone. No harmless row may be damaged, and none replaced whole. */
const recallTargets: Readonly<Record<Family, number>> = { names: 0.85, sizes: 0.97, commands: 0.97, encodings: 0.7, people: 0.9 };

export interface FamilyScore {
  readonly family: Family;
  /** The number of rows with something to replace, of the values in them, and of those that are gone. */
  readonly rows: number;
  readonly values: number;
  readonly gone: number;
  /** The number of rows in which more than the values was removed. */
  readonly excess: number;
  /** The number of rows, harmless ones too, that were replaced whole. */
  readonly whole: number;
  readonly harmless: number;
  readonly damaged: number;
}

export async function scoreFamily(part: Part, family: Family, library: Library): Promise<FamilyScore> {
  if (family === 'sizes') return familyScoreOfSizes(await scoreSizes(part, library));
  const score = await scoreTexts(part, family, library);
  const { rows, values, gone, excess } = recallOf(score);
  const { rows: harmless, damaged } = damageOf(score);
  return { family, rows, values, gone, excess, whole: 0, harmless, damaged };
}

export function scoreTexts(part: Part, family: Exclude<Family, 'sizes'>, { redactText, redactJson }: Library): Promise<Score> {
  return scoreRows(loadFamily(part, family).rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text)));
}

export async function scoreSizes(part: Part, library: Library): Promise<readonly SizeScore[]> {
  const scores: SizeScore[] = [];
  for (const row of loadSizes(part).rows) scores.push(await scoreSize(row, library));
  return scores;
}

function familyScoreOfSizes(scores: readonly SizeScore[]): FamilyScore {
  const positives = scores.filter(({ values }) => values > 0);
  const sumOf = (of: 'values' | 'gone'): number => positives.reduce((sum, score) => sum + score[of], 0);
  return {
    family: 'sizes',
    rows: positives.length,
    values: sumOf('values'),
    gone: sumOf('gone'),
    excess: positives.filter(({ isExcess }) => isExcess).length,
    whole: scores.filter(({ isWhole }) => isWhole).length,
    harmless: scores.length - positives.length,
    damaged: scores.filter(({ isDamaged }) => isDamaged).length,
  };
}

export const reachesTargets = ({ family, values, gone, whole, damaged }: FamilyScore): boolean =>
  gone / values >= recallTargets[family] && damaged === 0 && whole === 0;
