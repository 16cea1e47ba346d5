// The dashboard is one that Grafana accepts and that explains itself. test/chaos/alerts.test.ts tests its expressions
// on a real Prometheus.
import { describe, expect, test } from 'vitest';
import { asked, type Panel, readDashboard } from './rules.ts';

const dashboard = readDashboard();
const panels = dashboard.panels.filter(({ type }) => type !== 'row');
const variables = dashboard.templating.list;
const source = { type: 'prometheus', uid: '${datasource}' };

test('it has a row for each subject', () => {
  expect(dashboard.panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
    'At a glance',
    'Decisions',
    'Decision time',
    'Policy on its way',
    'Leases of shared limits',
    'Entries and the audit log',
    'Runs and spend',
    'REST',
    'Processes',
  ]);
});

test('it queries the selected data source, and no selection depends on one installation', () => {
  expect(variables.map(({ name, type }) => [name, type])).toEqual([
    ['datasource', 'datasource'],
    ['namespace', 'query'],
    ['job', 'query'],
    ['instance', 'query'],
  ]);
  expect(dashboard).toMatchObject({ uid: 'tollgate', schemaVersion: 38 });
  expect('id' in dashboard).toBe(false);
});

test('with all jobs selected it shows processes of Tollgate, and no others', () => {
  const processes = panels.flatMap(({ targets = [] }) => targets).filter(({ expr }) => /\b(?:process|nodejs)_/.test(expr));
  expect(processes.length).toBeGreaterThan(3);
  for (const { expr } of processes) expect(asked(expr, '1m')).toContain('job=~"tollgate-.+"');
});

test('a counter is shown as a rate, so that a restart is no decrease', () => {
  const totals = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => [...expr.matchAll(/(\w+)\((\w+_total)\{/g)]));
  expect(totals.length).toBeGreaterThan(15);
  expect(totals.filter(([, by = '']) => !['rate', 'increase'].includes(by))).toEqual([]);
  const named = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => expr.match(/\w+_total\b/g) ?? []));
  expect(totals).toHaveLength(named.length);
});

test('no two panels have the same number, and none overlaps another or exceeds the width', () => {
  const { panels: all } = dashboard;
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  const wrong = all.flatMap((one, at) =>
    all.slice(at + 1).flatMap((other) => (overlap(one, other) ? [`${one.title}, ${other.title}`] : [])),
  );
  expect(wrong).toEqual([]);
  expect(all.filter(({ gridPos: { x, w } }) => x < 0 || x + w > 24)).toEqual([]);
});

describe.each(panels)('$title', ({ description, fieldConfig, datasource, targets = [] }) => {
  test('says what it shows, with a unit, from the selected data source', () => {
    expect(description?.length).toBeGreaterThan(15);
    expect(fieldConfig?.defaults.unit).toMatch(/^(?:none|s|ops|reqps|bytes|percentunit)$/);
    expect(datasource).toEqual(source);
    expect(targets.length).toBeGreaterThan(0);
    for (const target of targets) {
      expect(target.datasource).toEqual(source);
      expect(target.legendFormat).toBeDefined();
      expect(asked(target.expr, '1m')).not.toContain('$');
    }
  });
});
