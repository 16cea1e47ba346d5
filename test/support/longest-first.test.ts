import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { longFiles } from './longest-first.ts';

const root = new URL('../..', import.meta.url);

test('each file that is listed as long exists', () => {
  expect(Object.keys(longFiles).filter((file) => !existsSync(fileURLToPath(new URL(file, root))))).toEqual([]);
});
