// Keeps rolling updates safe. The previous version still runs while the new one starts, so a migration must not remove
// what the previous version needs. What is no longer used is removed one release later, and that migration then
// contains the line `-- Side by side: …`.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../control-plane/database/migrations/', import.meta.url);
/** Up to this migration there was no previous version. */
const first = 20;

const taking: readonly RegExp[] = [
  /\bdrop\s+(?:table|column|view|function|trigger|type|default)\b/,
  /\brename\b/,
  /\balter\s+column\s+\w+\s+(?:type|set\s+data\s+type)\b/,
  /\bset\s+not\s+null\b/,
  /\badd\s+(?:constraint|check|unique|primary|foreign|exclude)\b/,
  // A column that the previous version does not know and would have to fill.
  /\badd\s+(?:column\s+)?\w+\s+[^,;]*\bnot\s+null\b(?![^,;]*\bdefault\b)(?<!\bdefault\b[^,;]*)/,
  /\b(?:truncate|delete\s+from)\b/,
];

/**
 * Returns the parts of the SQL that the previous version might miss or wait for. Empty if a line of the SQL says why
 * it is safe.
 */
function takenAway(up: string): readonly string[] {
  if (/^-- Side by side: \S/m.test(up)) return [];
  const sql = up.replaceAll(/--.*$/gm, '').toLowerCase();
  const made = new Set([...sql.matchAll(/\bcreate\s+table\s+(\w+)/g)].map(([, name]) => name));
  // Writers wait while the index is built.
  const indexes = [...sql.matchAll(/\bcreate\s+(?:unique\s+)?index\s+[^;]*?\bon\s+(?:only\s+)?(\w+)/g)].filter(
    ([, table]) => !made.has(table),
  );
  return [...taking.flatMap((one) => one.exec(sql)?.[0] ?? []), ...indexes.map(([text]) => text)];
}

const upOf = (file: string): string => readFileSync(new URL(file, folder), 'utf8').split('-- Down Migration')[0] ?? '';

test('no migration removes what the previous version needs, unless it says why that is safe', () => {
  const files = readdirSync(folder).filter((name) => name.endsWith('.sql'));
  expect(files.length).toBeGreaterThanOrEqual(first);
  const later = files.filter((name) => Number(name.slice(0, 4)) > first);
  expect(later.flatMap((file) => takenAway(upOf(file)).map((what) => `${file}: ${what}`))).toEqual([]);
});

test.each([
  ['drop table agent;', 'drop table'],
  ['alter table agent drop column model;', 'drop column'],
  ['alter table agent rename column model to llm;', 'rename'],
  ['alter table agent alter column model type int using 1;', 'alter column model type'],
  ['alter table agent alter column model set not null;', 'set not null'],
  ['alter table agent add column a text, add column b text not null, add column c int;', 'add column b text not null'],
  ['alter table agent add constraint x check (true);', 'add constraint'],
  ['create index a_b on audit_entry (ts);', 'create index a_b on audit_entry'],
])('the check finds %s', (sql, what) => {
  expect(takenAway(`-- Up Migration\n${sql}`)).toEqual([what]);
  expect(takenAway(`-- Up Migration\n-- Side by side: 0.3 has not read it.\n${sql}`)).toEqual([]);
});

test.each([
  'create table a (b text not null); create index c on a (b);',
  'alter table agent add column a text;',
  'alter table agent add column a int not null default 0, add column b boolean default true not null;',
  'alter table agent alter column model drop not null; -- drop table agent',
])('the check accepts %s', (sql) => {
  expect(takenAway(`-- Up Migration\n${sql}`)).toEqual([]);
});
