import { expect, test } from 'vitest';
import { reasonInLine } from '../../../console/parts/calls-list-reason.ts';

test('what a rule says of itself is first, without the tool that the row has', () => {
  const reason = 'the workspace denies api calls of "crm.export" (tools["crm.export"].api.cases["all"]): at most 1000 customers';
  expect(reasonInLine(reason, 'crm.export')).toBe(
    'at most 1000 customers · the workspace denies api calls (tools["crm.export"].api.cases["all"])',
  );
});

test.each([
  ['the workspace denies api calls of "a" (tools.a.api)', 'the workspace denies api calls (tools.a.api)'],
  ['the workspace is frozen', 'the workspace is frozen'],
  ['ends with ): ', 'ends with ): '],
  ['', ''],
])('a reason without it stays as it is: %s', (reason, line) => {
  expect(reasonInLine(reason, 'a')).toBe(line);
});
