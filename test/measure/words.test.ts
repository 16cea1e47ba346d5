// The words of these tests are invented: real ones would be counted.
import { describe, expect, test } from 'vitest';
import { makeTree } from './support.ts';
import { countWords } from './words/count.ts';
import { type ListedWord, parseWords, readWords } from './words/list.ts';
import { createFindWords } from './words/match.ts';

const list: readonly ListedWord[] = [
  { word: 'zor', forms: ['zor', 'zors'], except: ['zor clock'] },
  { word: 'moves off', forms: ['moves off', 'move off'], except: [] },
];

describe('a listed word', () => {
  const find = createFindWords(list);
  test.each([
    ['zor', 1],
    ['Zors, ZOR: zor.', 3],
    ['isZorLost', 1],
    ['ZORList', 1],
    ['parse-zor_file.ts', 1],
    ['zorro, azor, unzorred', 0],
    ['azorB', 0],
    ['the zor clock, zorClock', 0],
    ['it moves\n * off, movesOff, move-off', 3],
    ['it moves. Off it is', 0],
  ])('%j: %i', (text, times) => expect(find(text)).toHaveLength(times));
});

test('words are counted by kind, word and folder, tests and documents included', () => {
  const tree = makeTree({
    'README.md': 'A zor `zor`.\n',
    'one/zor.ts': "import './zor.js';\n// moves\n// off\nexport const zor = { zors: 'a zor' };\n",
    'one/deep/use.ts': 'const text = `zor ${zor} zor`;\n',
    'test/x.test.ts': "test.each([])('a zor is found', () => expect('zor'));\n",
    'deploy/run': '#!/bin/sh\necho zor # zor\n',
    'deploy/values.yaml': 'zor: zor # zor\n',
    'one/api.proto': '/* zor */ message Zor {} // zor\n',
    'one/gen/made.ts': '// zor\n',
    'data.json': '{"zor": "zor"}',
  });
  const { all, byWord, byFolder, bySecondLevel, byFile } = countWords(tree, list);
  expect(all).toEqual({ all: 16, comments: 3, strings: 4, identifiers: 3, testNames: 1, documents: 2, scripts: 2, fileNames: 1 });
  expect(byWord['moves off']).toMatchObject({ all: 1, comments: 1 });
  expect(Object.fromEntries(Object.entries(byFolder).map(([folder, count]) => [folder, count.all]))).toEqual({
    one: 10,
    '(root)': 2,
    test: 2,
    deploy: 2,
  });
  expect(bySecondLevel['one/deep']).toMatchObject({ all: 3, strings: 2, identifiers: 1 });
  expect(byFile['test/x.test.ts']).toEqual({ zor: 2 });
});

test('the list of this repository is read, with every word that the documents name', () => {
  const words = readWords().map(({ word }) => word);
  expect(words.length).toBeGreaterThan(20);
  expect(new Set(words).size).toBe(words.length);
});

test('a mistake in the list is named', () => {
  expect(() => parseWords('- { forms: [a] }')).toThrow('item 1 has no `word`');
  expect(() => parseWords('- { word: a, forms: [] }')).toThrow('`forms` of a');
});
