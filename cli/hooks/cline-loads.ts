// Finds why Cline would load no plugin, ours included. Cline loads plugins in a program of its own, which it starts with
// Node or Bun when a session starts. If that program cannot be started, or has not loaded every plugin within a time
// limit, Cline writes one line to its log and runs the session without plugins. A session is served by the program that
// the user starts, or by a process that an earlier session in the same home left running; then the environment of that
// process counts. Read in the code of Cline 3.0.65, and tried with it.
import { readFile } from 'node:fs/promises';
import { isRow } from '../api/answer.ts';
import { findProgram, isThere } from './host-version.ts';
import { pathsOf } from './paths.ts';
import type { Here } from './records.ts';

type Env = Here['env'];

/** How long all plugins together may take to load, in ms, unless the variable says otherwise. */
const standardMs = 4_000;
const limitVariable = 'CLINE_PLUGIN_IMPORT_TIMEOUT_MS';
/** Variables that may name the runtime. Cline ignores their value if it is not `node` or `bun`. */
const runtimeVariables = ['BUN_EXEC_PATH', 'npm_node_execpath', 'NODE'] as const;

/**
 * Returns the reasons in words. Of the program that the user starts, only the environment of this process is known.
 * `data`: the folder in which Cline keeps its data.
 */
export async function whyClineLoadsNone(here: Here, data: string): Promise<readonly string[]> {
  const limitMs = limitIn(here.env);
  const own = await reasonsIn(here, standardMs);
  const hub = await hubIn(here, data);
  const ofHub = hub === null ? [] : await reasonsIn({ ...here, env: hub.env }, Math.max(limitMs, standardMs));
  return [
    ...own,
    ...ofHub.map(
      (reason) => `new sessions are served by process ${hub?.pid} of Cline, in whose environment ${reason}; end it: kill ${hub?.pid}`,
    ),
  ];
}

async function reasonsIn(here: Here, limitMsMin: number): Promise<readonly string[]> {
  const limitMs = limitIn(here.env);
  const runtime = await missingRuntime(here);
  return [
    ...(limitMs < limitMsMin ? [`Cline loads no plugin if loading takes ${limitMs} ms (${limitVariable})`] : []),
    ...(runtime === null ? [] : [`${runtime}, so Cline can load no plugin`]),
  ];
}

function limitIn(env: Env): number {
  const limitMs = Number(env[limitVariable] || standardMs);
  return Number.isInteger(limitMs) && limitMs > 0 ? limitMs : standardMs;
}

/** Says which runtime is missing. Null: Cline finds one. */
async function missingRuntime(here: Here): Promise<string | null> {
  const named = here.env['CLINE_JS_RUNTIME_PATH']?.trim() ?? '';
  if (named !== '') {
    const isFound = (await isThere(named)) || (await findProgram(here, [named])) !== null;
    return isFound ? null : `CLINE_JS_RUNTIME_PATH names ${named}, which does not exist`;
  }
  const isRuntime = (path = ''): boolean => /(?:^|[/\\])(?:node|bun)(?:\.exe)?$/i.test(path.trim());
  if (runtimeVariables.some((name) => isRuntime(here.env[name]))) return null;
  return (await findProgram(here, ['node'])) === null ? 'node is not on PATH' : null;
}

interface Hub {
  readonly pid: number;
  readonly env: Env;
}

/**
 * Returns the process that serves new sessions of this home. Null: there is none, or its environment cannot be read, as
 * on macOS and Windows.
 */
async function hubIn(here: Here, data: string): Promise<Hub | null> {
  const path = here.env['CLINE_HUB_DISCOVERY_PATH']?.trim() || pathsOf(here).join(data, 'locks', 'hub', 'production.json');
  const record: unknown = await readFile(path, 'utf8')
    .then(JSON.parse)
    .catch(() => null);
  const pid = isRow(record) ? record['pid'] : null;
  if (typeof pid !== 'number' || !Number.isInteger(pid) || pid <= 0) return null;
  const text = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
  const env = Object.fromEntries(text.split('\0').map((one) => [one.split('=', 1)[0] ?? '', one.slice(one.indexOf('=') + 1)]));
  // Another program may have the number of a process that has ended.
  return env['CLINE_RUN_AS_HUB_DAEMON'] === '1' ? { pid, env } : null;
}
