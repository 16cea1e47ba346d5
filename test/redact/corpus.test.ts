// Checks that the corpus is as described, and that redaction reaches on the development part the targets that are set
// for the held-out part. This file reads the held-out part only to count it; `npm run bench -- redact` scores it.

import type { RedactionKind } from '@tollgate/proto/contract';
import { beforeAll, describe, expect, test } from 'vitest';
import { isPositive, loadCorpus, parseRows } from './corpus.ts';
import { createTollgate } from './libraries.ts';
import { damageOf, kindGroups, recallOf, type Score, scoreRows, secretGroups } from './score.ts';

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

const repeatedOf = (texts: readonly string[]): readonly string[] => texts.filter((text, at) => texts.indexOf(text) !== at);
