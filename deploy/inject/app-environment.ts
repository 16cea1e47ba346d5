// Adds environment variables to the app's containers: the address of their sidecar and the key for it. They are added
// before the container's own variables, which may therefore use them (`$(TOLLGATE_MCP_URL)/github`). They never replace
// a variable of the container.
import type { Container, Variable } from './pod.ts';
import type { PodSettings } from './settings.ts';

export const variablesForApps = [
  'TOLLGATE_SIDECAR',
  'TOLLGATE_HOOKS_URL',
  'TOLLGATE_MCP_URL',
  'TOLLGATE_TOOLS_URL',
  'TOLLGATE_KEY',
] as const;

export const isVariableForApps = (name: string): boolean => variablesForApps.some((one) => one === name);

export interface PointedContainer {
  readonly container: Container;
  readonly added: readonly string[];
}

export function pointAtSidecar(container: Container, wanted: PodSettings): PointedContainer {
  const set = new Set((container.env ?? []).map(({ name }) => name));
  const added = variablesFor(wanted).filter(({ name }) => !set.has(name));
  if (added.length === 0) return { container, added: [] };
  return { container: { ...container, env: [...added, ...(container.env ?? [])] }, added: added.map(({ name }) => name) };
}

function variablesFor({ port, keySecret }: PodSettings): readonly Variable[] {
  const base = `http://127.0.0.1:${port}`;
  return [
    { name: 'TOLLGATE_SIDECAR', value: base },
    { name: 'TOLLGATE_HOOKS_URL', value: `${base}/govern` },
    { name: 'TOLLGATE_MCP_URL', value: `${base}/mcp` },
    { name: 'TOLLGATE_TOOLS_URL', value: `${base}/tools` },
    { name: 'TOLLGATE_KEY', valueFrom: { secretKeyRef: { name: keySecret, key: 'key' } } },
  ];
}
