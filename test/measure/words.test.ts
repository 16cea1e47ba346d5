// The words of these tests are invented: real ones would be counted.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { makeTree } from './support.ts';
import { openTree } from '../support/checkout/tree.ts';
import { countWords } from './words/count.ts';
import { listUnused, parseExceptions, readExceptions } from './words/exceptions.ts';
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
  const { all, byWord, byFolder, bySecondLevel, byFile } = countWords(tree, list, []);
  expect(all).toEqual({ all: 21, comments: 3, strings: 4, identifiers: 3, testNames: 1, documents: 2, scripts: 2, texts: 5, fileNames: 1 });
  expect(byWord['moves off']).toMatchObject({ all: 1, comments: 1 });
  expect(Object.fromEntries(Object.entries(byFolder).map(([folder, count]) => [folder, count.all]))).toEqual({
    one: 10,
    deploy: 5,
    '(root)': 4,
    test: 2,
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

describe('a planted word', () => {
  const places: readonly (readonly [string, string, string, string])[] = [
    ['a comment', 'one/a.ts', '// zor\n', 'comments'],
    ['a comment of .proto', 'one/a.proto', 'message A {} // zor\n', 'comments'],
    ['a comment of SQL', 'one/a.sql', 'select 1 -- zor\n', 'comments'],
    ['a comment of YAML', 'one/a.yaml', 'a: 1 # zor\n', 'scripts'],
    ['a comment of shell', 'one/run', '#!/bin/sh\n# zor\n', 'scripts'],
    ['a string', 'one/a.ts', "export const a = 'zor';\n", 'strings'],
    ['an identifier', 'one/a.ts', 'export const zorOne = 1;\n', 'identifiers'],
    ['the name of a test', 'one/a.test.ts', "test('zor', () => {});\n", 'testNames'],
    ['a document', 'docs/a.md', 'a zor\n', 'documents'],
    ['a text of a YAML file', 'one/a.yaml', 'summary: a zor\n', 'texts'],
    ['a text of a JSON file', 'one/a.json', '{"title":"a zor"}\n', 'texts'],
    ['the name of a file', 'one/a-zor.ts', '', 'fileNames'],
    ['the name of a folder', 'zor/a.ts', '', 'fileNames'],
  ];
  test.each(places)('is found in %s', (_, path, text, kind) => {
    expect(countWords(makeTree({ [path]: text }), list, []).all).toMatchObject({ all: 1, [kind]: 1 });
  });

  test('is not counted where an exception names its file and the text', () => {
    const tree = makeTree({ 'a.md': 'zor_total, a zor\n', 'b.md': 'zor_total\n', 'c.md': 'zor\n' });
    const exceptions = parseExceptions('- { reason: r, files: [a.md], texts: [zor_total] }\n- { reason: s, files: [c.md] }');
    expect(countWords(tree, list, exceptions).byFile).toEqual({ 'a.md': { zor: 1 }, 'b.md': { zor: 1 } });
  });
});

describe('this repository', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));

  test('has no listed word outside the exceptions', () => {
    expect(countWords(openTree(root), readWords(), readExceptions()).byFile).toEqual({});
    // All text of the tree is read.
  }, 120_000);

  test('needs every exception', () => {
    const read = (path: string): string | null => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : null);
    expect(listUnused(readExceptions(), read)).toEqual([]);
  });
});
