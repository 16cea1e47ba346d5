// A real Prometheus from Debian: it scrapes the given addresses, evaluates the given rules, and is queried over its
// API.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { eventually } from './programs.ts';

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface RuleState {
  readonly name: string;
  readonly health: string;
  readonly lastError?: string;
  readonly alerts: readonly { readonly state: string; readonly annotations: Readonly<Record<string, string>> }[];
}

interface Options {
  /** The text of the rule file. */
  readonly rules: string;
  /** Addresses to scrape, by job. */
  readonly jobs: Readonly<Record<string, readonly string[]>>;
  readonly intervalMs: number;
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

export async function startPrometheus({ rules, jobs, intervalMs }: Options) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-prometheus-'));
  const config = {
    global: { scrape_interval: `${intervalMs}ms`, scrape_timeout: `${intervalMs}ms`, evaluation_interval: `${intervalMs}ms` },
    rule_files: [join(folder, 'rules.yaml')],
    scrape_configs: Object.entries(jobs).map(([job, targets]) => ({ job_name: job, static_configs: [{ targets }] })),
  };
  writeFileSync(join(folder, 'rules.yaml'), rules);
  writeFileSync(join(folder, 'prometheus.yaml'), stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      // Restoring the state of alerts waits for this long after a start.
      '--rules.alert.for-grace-period=0s',
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let log = '';
  let ended: string | null = null;
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  child.once('error', (error) => {
    ended = `prometheus cannot be started; Debian has it in the package prometheus: ${error.message}`;
  });
  const exit = once(child, 'exit').then(
    () => {
      ended ??= `prometheus ended:\n${log}`;
    },
    () => undefined,
  );

  const get = async (path: string): Promise<unknown> => {
    if (ended !== null) throw new Error(ended);
    const response = await fetch(`http://${address}${path}`);
    const body = (await response.json()) as { readonly status: string; readonly data: unknown; readonly error?: string };
    if (body.status !== 'success') throw new Error(`${decodeURIComponent(path)}: ${body.error}`);
    return body.data;
  };
  const close = async (): Promise<void> => {
    if (child.pid !== undefined) {
      child.kill('SIGKILL');
      await exit;
    }
    rmSync(folder, { recursive: true, force: true });
  };
  const isReady = async (): Promise<boolean> => {
    if (ended !== null) throw new Error(ended);
    return fetch(`http://${address}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  };
  await eventually(isReady, (ready) => ready).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const query = async (expr: string): Promise<readonly Sample[]> =>
    ((await get(`/api/v1/query?query=${encodeURIComponent(expr)}`)) as { readonly result: readonly Sample[] }).result;
  return {
    query,
    /** The names of the alerts that fire. */
    firing: async (): Promise<readonly string[]> =>
      (await query('group by (alertname) (ALERTS{alertstate="firing"})')).map(({ metric }) => metric['alertname'] ?? '').toSorted(),
    rules: async (): Promise<readonly RuleState[]> =>
      ((await get('/api/v1/rules')) as { readonly groups: readonly { readonly rules: readonly RuleState[] }[] }).groups.flatMap(
        ({ rules: of }) => of,
      ),
    close,
  };
}

/** Another process may take the port before it is used, which is rare. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (typeof address !== 'object' || address === null) throw new Error('there is no free port');
  return address.port;
}
