// The alert rules and the dashboard that the chart carries, as the tests read them.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

const folder = new URL('../../../deploy/helm/tollgate/monitoring/', import.meta.url);

export const rulesPath = fileURLToPath(new URL('alerts.yaml', folder));
const dashboardPath = new URL('dashboard.json', folder);

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Group {
  readonly name: string;
  readonly rules: readonly Alert[];
}

export const rulesText = readFileSync(rulesPath, 'utf8');
export const alerts: readonly Alert[] = (parse(rulesText) as { readonly groups: readonly Group[] }).groups.flatMap(({ rules }) => rules);

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: unknown;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string; readonly datasource: unknown }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: unknown;
  /** The value that means all of them. */
  readonly allValue?: string;
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
}

export const readDashboard = (): Dashboard => JSON.parse(readFileSync(dashboardPath, 'utf8')) as Dashboard;

const all = new Map(readDashboard().templating.list.flatMap(({ name, allValue }) => (allValue === undefined ? [] : [[name, allValue]])));

/** As Grafana queries it, with everything selected. */
export const asked = (expr: string, window: string): string =>
  expr
    .replaceAll('$__rate_interval', window)
    .replaceAll('$__range', window)
    .replaceAll(/\$(\w+)/g, (variable, name: string) => all.get(name) ?? variable);
