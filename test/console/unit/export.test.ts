import { expect, test } from 'vitest';
import { exportAddress, exportWords } from '../../../console/audit/export.ts';

const range = { since: '2026-03-01T00:00:00.000Z', until: null, last: '7d' };

test('the address has the filters and the time', () => {
  expect(exportAddress('acme', { tool: 'crm.export', sub: 'mia' }, { ...range, until: '2026-03-02T00:00:00.000Z' })).toBe(
    '/acme/admin/audit/export?tool=crm.export&sub=mia&since=2026-03-01T00%3A00%3A00.000Z&until=2026-03-02T00%3A00%3A00.000Z',
  );
});

test('the words name the filters, the time and the number of calls', () => {
  expect(exportWords({ tool: 'crm.export', decision: 'deny' }, range, 11)).toMatch(
    /^One JSON object for each entry.* Only tool crm\.export, decision deny, from .*2026.* until now\. 11 calls,/,
  );
  expect(exportWords({}, range, undefined)).toMatch(/ No filter, from .* until now\.$/);
});

test('counts are of all users, so with a user no number is given', () => {
  expect(exportWords({ sub: 'mia' }, range, 11)).toMatch(/Only user mia, from .* until now\.$/);
});
