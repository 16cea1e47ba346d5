// Checks that the corpus is as described, and that redaction reaches on the development part the targets that are set
// for the held-out part. This file reads the held-out part only to count it and to compare it with the other;
// `npm run bench -- redact` scores it, and `npm run redact:score -- held-out` the families.

import { isRedactionKind, type RedactionKind } from '@tollgate/proto/contract';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  awaitedKinds,
  families,
  isPositive,
  loadCorpus,
  loadFamily,
  type Part,
  parseRows,
  parts,
  type Row,
  type TextFamily,
} from './corpus.ts';
import { awaitedFamilies, reachesTargets, scoreFamily } from './families.ts';
import { createTollgate } from './libraries.ts';
import { damageOf, kindGroups, recallOf, type Score, scoreRows, secretGroups } from './score.ts';
import { loadSizes, scoreSize } from './sizes.ts';

const development = loadCorpus('development');
const heldOut = loadCorpus('held-out');
const all = [...development.rows, ...heldOut.rows];

test('every row has a form that can be scored', () => {
  expect([...development.problems, ...heldOut.problems]).toEqual([]);
});

test('there are 600 rows with something to redact and 600 with nothing, and some of every kind', () => {
  const positives = all.filter(isPositive);
  expect(positives.length).toBeGreaterThanOrEqual(600);
  expect(all.length - positives.length).toBeGreaterThanOrEqual(600);
  const kinds: readonly RedactionKind[] = Object.values(kindGroups).flat();
  expect(kinds.filter((kind) => positives.filter((row) => row.kind === kind).length < 15)).toEqual([]);
});

test('no id and no text occurs twice, so no held-out row is known', () => {
  expect(repeatedOf(all.map(({ id }) => id))).toEqual([]);
  const ids = new Map(all.map(({ id, text }) => [text, id]));
  expect(all.filter(({ id, text }) => ids.get(text) !== id).map(({ id }) => id)).toEqual([]);
});

test('a third of the rows that were written before the detectors is held out', () => {
  // The rows that were added later are not held out.
  const first = all.filter(({ id }) => /^(?:form|struct|person|like)-/.test(id));
  expect(heldOut.rows.length / first.length).toBeGreaterThan(0.3);
  expect(heldOut.rows.length / first.length).toBeLessThan(0.37);
});

test('a row that cannot be scored is reported by file and line, and its text is not shown', () => {
  const lines = [
    '{"id":"form-0001","kind":"jwt","in":"log","text":"a s3¦cret here","values":["s3¦cret"]}',
    '{"id":"form-0002","kind":"jwt","in":"log","text":"a s3cret here","values":["other"]}',
    '{"id":"form-0003","kind":"shoe_size","like":"uuid","in":"log","note":"?"}',
    'not JSON',
  ];
  const parsed = parseRows('a.jsonl', lines.join('\n'));
  expect(parsed[0]?.row).toMatchObject({ text: 'a s3cret here', values: ['s3cret'] });
  expect(parsed.flatMap(({ problems }) => problems)).toEqual([
    'a.jsonl:2: values[0] does not occur',
    'a.jsonl:3: has an unknown field note',
    'a.jsonl:3: has both text and value, or neither',
    'a.jsonl:3: has both kind and like, or neither',
    'a.jsonl:4: is not JSON',
  ]);
});

describe('on the development part', () => {
  let score: Score;
  beforeAll(async () => {
    const { redactText, redactJson } = createTollgate();
    score = await scoreRows(development.rows, ({ isJson, text }) => (isJson ? redactJson(text) : redactText(text)));
  });

  test('97 % of secrets with a form or structure are removed, and 95 % of those found by name', () => {
    expect(recallOf(score, secretGroups).recall).toBeGreaterThanOrEqual(0.97);
    expect(recallOf(score, kindGroups['secrets by name']).recall).toBeGreaterThanOrEqual(0.95);
  });

  test('95 % of structured personal data is removed', () => {
    expect(recallOf(score, kindGroups['structured personal data']).recall).toBeGreaterThanOrEqual(0.95);
  });

  test('at most 1 % of look-alikes are changed', () => {
    expect(damageOf(score).damage).toBeLessThanOrEqual(0.01);
  });
});

describe('the families', () => {
  const textFamilies = families.filter((family): family is TextFamily => family !== 'sizes');
  const rowsOf = (part: Part): readonly Row[] => textFamilies.flatMap((family) => loadFamily(part, family).rows);
  const [developed, held] = [rowsOf('development'), rowsOf('held-out')];
  const [developedSizes, heldSizes] = [loadSizes('development').rows, loadSizes('held-out').rows];

  test('every row has a form that can be scored', () => {
    const loaded = parts.flatMap((part) => [...textFamilies.map((family) => loadFamily(part, family)), loadSizes(part)]);
    expect(loaded.flatMap(({ problems }) => problems)).toEqual([]);
  });

  test.each(textFamilies)('%s has 200 rows, half of them held out, and a third of each half is harmless', (family) => {
    expectHalves(loadFamily('development', family).rows.map(isPositive), loadFamily('held-out', family).rows.map(isPositive));
  });

  test('sizes has 200 rows, half of them held out, and a third of each half is harmless', () => {
    expectHalves(
      developedSizes.map(({ kind }) => kind !== null),
      heldSizes.map(({ kind }) => kind !== null),
    );
  });

  test('no id and no text occurs twice, in the rest of the corpus neither', () => {
    const everywhere = [...all, ...developed, ...held];
    expect(repeatedOf([...everywhere, ...developedSizes, ...heldSizes].map(({ id }) => id))).toEqual([]);
    const ids = new Map(everywhere.map(({ id, text }) => [text, id]));
    expect(everywhere.filter(({ id, text }) => ids.get(text) !== id).map(({ id }) => id)).toEqual([]);
  });

  test('no value of a family occurs in the other part', () => {
    const valuesOf = (rows: readonly Row[]) => new Set(rows.flatMap((row) => (isPositive(row) ? row.values : [])));
    const idsWith = (rows: readonly Row[], values: ReadonlySet<string>) =>
      rows.filter((row) => isPositive(row) && row.values.some((value) => values.has(value))).map(({ id }) => id);
    expect(idsWith(developed, valuesOf([...held, ...heldOut.rows]))).toEqual([]);
    expect(idsWith(held, valuesOf([...developed, ...development.rows]))).toEqual([]);
  });

  test('no two payloads of sizes have the same seed, so none has the values of another', () => {
    expect(repeatedOf([...developedSizes, ...heldSizes].map(({ payload }) => String(payload.seed)))).toEqual([]);
  });

  test('a kind that rows wait for has no detector yet; one that has leaves the list', () => {
    expect(awaitedKinds.filter(isRedactionKind)).toEqual([]);
  });

  test.each(textFamilies)(
    '%s reaches its targets on the development part unless it waits for its detectors, and only then',
    async (family) => {
      expect(reachesTargets(await scoreFamily('development', family, createTollgate()))).toBe(!awaitedFamilies.includes(family));
    },
  );

  // Scoring all of sizes takes too long for a test, so one payload stands for the others; the command scores all.
  test('an access log of 2 MB is not replaced whole unless sizes waits for its detectors, and only then', async () => {
    const row = developedSizes.find(({ payload: { make, lines } }) => make === 'access_log' && lines > 15_000);
    if (row === undefined) throw new Error('sizes has no long access log in its development part');
    expect((await scoreSize(row, createTollgate())).isWhole).toBe(awaitedFamilies.includes('sizes'));
  });
});

/** For each row of a half, whether it has something to redact. */
function expectHalves(developed: readonly boolean[], held: readonly boolean[]): void {
  expect(developed.length + held.length).toBeGreaterThanOrEqual(200);
  expect(Math.abs(developed.length - held.length)).toBeLessThanOrEqual(1);
  for (const half of [developed, held])
    expect(half.filter((isPositiveRow) => !isPositiveRow).length).toBeGreaterThanOrEqual(half.length / 3);
}

const repeatedOf = (texts: readonly string[]): readonly string[] => texts.filter((text, at) => texts.indexOf(text) !== at);
