// Tests the alert rules with Prometheus itself: `promtool` reads them, and evaluates each on generated series.
// test/chaos/alerts.test.ts fires them on real series.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { pageOf } from '../../../site/pages.ts';
import { needs } from '../../support/installed.ts';
import { names } from '../../support/names.ts';
import { alerts, rulesPath } from './rules.ts';

const run = promisify(execFile);

type Series = Readonly<Record<string, string | null>>;

interface Case {
  readonly name: string;
  readonly series: Series;
  readonly firing: Readonly<Record<string, readonly string[]>>;
}

const read = (name: string): unknown => parse(readFileSync(new URL(`../../cases/alerts/${name}.yaml`, import.meta.url), 'utf8'));
const well = read('well') as Series;
const cases = read('firing') as readonly Case[];

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-rules-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The output of promtool for it; null: it is correct. */
async function problemOf(args: readonly string[]): Promise<string | null> {
  try {
    await run('promtool', [...args]);
    return null;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    return `${stdout ?? ''}${stderr ?? ''}${String(error)}`;
  }
}

const inputOf = (series: Series) =>
  Object.entries({ ...well, ...series }).flatMap(([name, values]) => (values === null ? [] : [{ series: name, values }]));

/** promtool repeats an expression that fails, so the expression contains the name of its case. */
const askedFor = (name: string): string => `label_replace(group by (alertname) (ALERTS{alertstate="firing"}), "case", "${name}", "", "")`;

const testOf = ({ name, series, firing }: Case) => ({
  interval: '1m',
  input_series: inputOf(series),
  promql_expr_test: Object.entries(firing).map(([time, names]) => ({
    expr: askedFor(name),
    eval_time: time,
    exp_samples: names.map((alertname) => ({ labels: `{alertname="${alertname}",case="${name}"}`, value: 1 })),
  })),
});

/** The path of a test file for promtool. */
function written(of: readonly Case[]): string {
  const path = join(mkdtempSync(join(folder, 'cases-')), 'cases.yaml');
  writeFileSync(path, stringify({ rule_files: [rulesPath], evaluation_interval: '1m', tests: of.map(testOf) }));
  return path;
}

test('promtool accepts the rules', needs('promtool'), async () => {
  expect(await problemOf(['check', 'rules', '--lint=all', '--lint-fatal', rulesPath])).toBeNull();
});

describe('an alert fires when it should, and no other alert fires', needs('promtool'), () => {
  let said: string | null = null;
  beforeAll(async () => {
    said = await problemOf(['test', 'rules', written(cases)]);
  });

  test.each(cases)('$name', ({ name }) => {
    const times = (said ?? '').split(/^(?= *expr: )/m).filter((part) => part.includes(askedFor(name).replaceAll('"', '\\"')));
    expect(times).toEqual([]);
  });

  test('promtool reports nothing else', () => expect(said).toBeNull());

  test('a wrong case is detected', async () => {
    const wrong = { name: 'wrong', series: {}, firing: { '5m': ['TollgateSpoolOld'] } };
    expect(await problemOf(['test', 'rules', written([wrong])])).toContain(askedFor('wrong').replaceAll('"', '\\"'));
  });

  test.each(alerts.map(({ alert }) => alert))('%s has a time at which it fires, and one before at which it does not', (alert) => {
    const changes = cases.some(({ firing }) => {
      const times = Object.values(firing);
      return times[0]?.includes(alert) === false && times.some((names) => names.includes(alert));
    });
    expect(changes).toBe(true);
  });
});

describe.each(alerts)('$alert', ({ alert, labels, annotations }) => {
  test('has its meaning, its severity, and what to do', () => {
    expect(alert).toMatch(/^Tollgate[A-Z][A-Za-z]+$/);
    expect(['critical', 'warning']).toContain(labels['severity']);
    expect(Object.keys(labels)).toEqual(['severity']);
    expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    expect(annotations['summary']?.length).toBeGreaterThan(15);
    expect(annotations['description']?.length).toBeGreaterThan(80);
    // Where the site has the page of the alert, from the one place that says where the site is.
    const page = pageOf(`docs/operate/alerts/${alert.toLowerCase()}.md`)?.replace(/\.md$/, '.html');
    expect(annotations['runbook_url']).toBe(new URL(page ?? '', names.documentation).href);
  });
});
