// The programs that are compared with Tollgate, as `install` of this folder installs them, each configured as its own
// documents recommend. A program that is missing makes its rows "not measured".
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { Missing } from './missing.ts';
import type { Closing } from './stage.ts';

const installed = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-bench');

const places = {
  opa: [join(installed, 'opa')],
  cerbos: [join(installed, 'cerbos')],
  envoy: [join(installed, 'envoy')],
  nginx: ['/usr/sbin/nginx', '/usr/bin/nginx'],
  wrk: ['/usr/bin/wrk', '/usr/local/bin/wrk'],
} as const;

export type Contender = keyof typeof places;

export function commandOf(name: Contender): string {
  const found = places[name].find((path) => existsSync(path));
  if (found === undefined) throw new Missing(`${name} is not installed: run test/bench/side/install`);
  return found;
}

export interface Running {
  readonly pid: number;
  readonly url: string;
}

/** OPA with one rule over the same agents and tools; each decision is written to a log file. */
export async function startOpa(folder: string, closing: Closing): Promise<Running> {
  const own = folderIn(folder, 'opa');
  writeFileSync(
    join(own, 'policy.rego'),
    `package tollgate
default allow := false
allow if {
	some pattern in data.agents[input.agent_name].enabled_tools
	glob.match(pattern, [], input.tool_name)
	not denied
}
denied if {
	some pattern in data.denied[input.agent_tier]
	glob.match(pattern, [], input.tool_name)
}
`,
  );
  writeFileSync(
    join(own, 'data.json'),
    JSON.stringify({ agents: { worker: { enabled_tools: ['server7.*'] } }, denied: { api: ['server7.delete_*'] } }),
  );
  const port = await freePort();
  const args = ['run', '--server', '--addr', `127.0.0.1:${port}`, '--log-level', 'error', '--set', 'decision_logs.console=true'];
  const running = start({ command: commandOf('opa'), args: [...args, 'policy.rego', 'data.json'], own, port }, closing);
  await untilAnswers(`${running.url}/health`);
  return running;
}

/** Cerbos with one policy over the same tools; each decision is written to its audit log file. */
export async function startCerbos(folder: string, closing: Closing): Promise<Running> {
  const own = folderIn(folder, 'cerbos');
  mkdirSync(join(own, 'policies'));
  writeFileSync(
    join(own, 'policies', 'tool.yaml'),
    `apiVersion: api.cerbos.dev/v1
resourcePolicy:
  resource: tool
  version: default
  rules:
    - actions: ["api"]
      effect: EFFECT_ALLOW
      roles: ["worker"]
      condition: {match: {expr: 'R.id.startsWith("server7.")'}}
    - actions: ["api"]
      effect: EFFECT_DENY
      roles: ["*"]
      condition: {match: {expr: 'R.id.startsWith("server7.delete_")'}}
`,
  );
  const [port, grpc] = [await freePort(), await freePort()];
  writeFileSync(
    join(own, 'config.yaml'),
    `server: {httpListenAddr: "127.0.0.1:${port}", grpcListenAddr: "127.0.0.1:${grpc}"}
storage: {driver: disk, disk: {directory: ${own}/policies, watchForChanges: false}}
audit: {enabled: true, accessLogsEnabled: false, decisionLogsEnabled: true, backend: file, file: {path: ${own}/audit.log}}
telemetry: {disabled: true}
`,
  );
  const args = ['server', '--config', 'config.yaml', '--log-level', 'error'];
  const running = start({ command: commandOf('cerbos'), args, own, port }, closing);
  await untilAnswers(`${running.url}/_cerbos/health`);
  return running;
}

/** nginx as a proxy with kept upstream connections and an access log; one worker. */
export async function startNginx(folder: string, upstream: string, closing: Closing): Promise<Running> {
  const own = folderIn(folder, 'nginx');
  const port = await freePort();
  writeFileSync(
    join(own, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${own}/pid; error_log ${own}/error.log;
events { worker_connections 1024; }
http {
  access_log ${own}/access.log;
  client_body_temp_path ${own}/body; proxy_temp_path ${own}/proxy; fastcgi_temp_path ${own}/f; uwsgi_temp_path ${own}/u; scgi_temp_path ${own}/s;
  keepalive_requests 10000000;
  upstream tool { server ${new URL(upstream).host}; keepalive 128; }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://tool; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`,
  );
  const running = start({ command: commandOf('nginx'), args: ['-p', own, '-c', join(own, 'nginx.conf')], own, port }, closing);
  await untilAnswers(`${running.url}/`);
  return running;
}

/** Envoy as a proxy with RBAC by a header of the agent and an access log; one worker. */
export async function startEnvoy(folder: string, upstream: string, closing: Closing): Promise<Running> {
  const own = folderIn(folder, 'envoy');
  const port = await freePort();
  const { hostname, port: upstreamPort } = new URL(upstream);
  const address = (host: string, at: number | string) => ({ socket_address: { address: host, port_value: Number(at) } });
  const typed = (name: string, type: string, fields: object) => ({
    name,
    typed_config: { '@type': `type.googleapis.com/envoy.extensions.${type}`, ...fields },
  });
  const rbac = {
    rules: {
      action: 'ALLOW',
      policies: {
        workers: {
          permissions: [{ any: true }],
          principals: [{ header: { name: 'x-tollgate-agent', string_match: { exact: 'free' } } }],
        },
      },
    },
  };
  const manager = {
    stat_prefix: 'tool',
    access_log: [typed('file', 'access_loggers.file.v3.FileAccessLog', { path: join(own, 'access.log') })],
    route_config: { virtual_hosts: [{ name: 'tool', domains: ['*'], routes: [{ match: { prefix: '/' }, route: { cluster: 'tool' } }] }] },
    http_filters: [typed('rbac', 'filters.http.rbac.v3.RBAC', rbac), typed('router', 'filters.http.router.v3.Router', {})],
  };
  const listeners = [
    {
      address: address('127.0.0.1', port),
      filter_chains: [
        {
          filters: [typed('manager', 'filters.network.http_connection_manager.v3.HttpConnectionManager', manager)],
        },
      ],
    },
  ];
  const endpoints = [{ lb_endpoints: [{ endpoint: { address: address(hostname, upstreamPort) } }] }];
  const clusters = [{ name: 'tool', type: 'STATIC', load_assignment: { cluster_name: 'tool', endpoints } }];
  writeFileSync(join(own, 'envoy.json'), JSON.stringify({ static_resources: { listeners, clusters } }));
  const args = ['--config-path', 'envoy.json', '--concurrency', '1', '--log-level', 'error', '--disable-hot-restart'];
  const running = start({ command: commandOf('envoy'), args, own, port }, closing);
  await untilAnswers(`${running.url}/`);
  return running;
}

interface Starting {
  readonly command: string;
  readonly args: readonly string[];
  /** Its folder, which also receives its output. */
  readonly own: string;
  readonly port: number;
}

function start({ command, args, own, port }: Starting, closing: Closing): Running {
  const output = openSync(join(own, 'output.log'), 'a');
  const child = spawn(command, args, { cwd: own, stdio: ['ignore', output, output] });
  closing.add(async () => {
    if (child.exitCode !== null) return;
    const ended = new Promise((done) => child.once('exit', done));
    child.kill('SIGTERM');
    await ended;
  });
  return { pid: child.pid ?? 0, url: `http://127.0.0.1:${port}` };
}

/** Any answer shows that it listens. */
async function untilAnswers(url: string): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    const answered = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer();
        return true;
      },
      () => false,
    );
    if (answered) return;
    await new Promise((rest) => setTimeout(rest, 20));
  }
  throw new Error(`${url} does not answer`);
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new Error('there is no free port');
  return address.port;
}

function folderIn(folder: string, name: string): string {
  mkdirSync(join(folder, name));
  return join(folder, name);
}

/** The versions that were measured, for the page. */
export function versions(): string {
  const ask = (name: Contender, ...args: string[]): string => {
    try {
      return execFileSync(commandOf(name), args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    } catch {
      return '';
    }
  };
  const version = (name: Contender, ...args: string[]): string => `${name} ${/\d+\.\d+\.\d+/.exec(ask(name, ...args))?.[0] ?? '(missing)'}`;
  return [version('opa', 'version'), version('cerbos', '--version'), version('envoy', '--version')].join(', ');
}
