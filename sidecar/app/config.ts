// Defines the configuration of the sidecar process: one schema gives types, defaults, validation and the table in
// docs/reference/environment.md.
import {
  bounds,
  commandsProblem,
  type ConfigOf,
  choice,
  integer,
  isTier,
  nameProblem,
  parseKey,
  text,
  tiers,
} from '@tollgate/proto/contract';
import { requestsPerSecondDefault } from '../doors/entrance/request-limit.ts';
import { socketPathProblem } from './socket-path.ts';
import { addressProblem, authoritiesProblem } from '../engine/link/tls/options.ts';

const portProblem = (value: string): string | null =>
  /^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port, from 0 to 65535';

export const sidecarSchema = {
  controlPlane: text({ name: 'TOLLGATE_CONTROL_PLANE', describe: 'Address of the control plane, `host:port`', fallback: '127.0.0.1:8081' }),
  key: text({
    name: 'TOLLGATE_KEY',
    describe: "The sidecar's own key, of scope `sidecar.sync`; required",
    fallback: null,
    secret: true,
    check: (value) => (parseKey(value) === null ? 'must be a workspace key, gsk_<workspace>_<random>' : null),
  }),
  host: text({ name: 'TOLLGATE_SIDECAR_HOST', describe: 'Address that it listens on', fallback: '127.0.0.1' }),
  port: integer({
    name: 'TOLLGATE_SIDECAR_PORT',
    describe: 'Port it listens on; 0 takes any free one',
    fallback: 9090,
    min: 0,
    max: 65_535,
  }),
  socket: text({
    name: 'TOLLGATE_SOCKET',
    describe:
      'Path of a Unix domain socket on which it listens too, absolute, at most 107 bytes; owner and group of the process may connect (mode 0660); absent: only on the port',
    fallback: null,
    check: socketPathProblem,
  }),
  meshPort: text({
    name: 'TOLLGATE_MESH_PORT',
    describe:
      "Port of Envoy's ext_authz and agentgateway's ExtMcp, gRPC, on the same host; 0 takes any free one; absent: neither is served",
    fallback: null,
    check: portProblem,
  }),
  metricsPort: text({
    name: 'TOLLGATE_METRICS_PORT',
    describe:
      'Port that serves only `/metrics`, on all interfaces, for Prometheus; 0 takes any free one; absent: `/metrics` is only on the port for agents',
    fallback: null,
    check: portProblem,
  }),
  spoolDir: text({
    name: 'TOLLGATE_SPOOL_DIR',
    describe: 'Folder of the spool and the last good snapshot',
    fallback: './.tollgate/sidecar',
  }),
  durability: choice({
    name: 'TOLLGATE_DURABILITY',
    describe:
      'What an entry can survive when the caller gets the decision: a kill of the process, a power loss, or (committed by the control plane, for which a call waits 5 s at most) the loss of the machine',
    fallback: 'kernel',
    choices: ['kernel', 'disk', 'remote'],
  }),
  leaseWaitMs: integer({
    name: 'TOLLGATE_LEASE_WAIT_MS',
    describe:
      "How long a call waits, in ms, when other sidecars hold the rest of a limit or cap; then it is denied and can be retried. At a coding agent's hook 3,500 at most",
    fallback: bounds.leaseWaitMs,
    min: 10,
    max: 5_000,
  }),
  spoolMaxMb: integer({
    name: 'TOLLGATE_SPOOL_MAX_MB',
    describe: 'Largest size of the spool, in MiB, including the spools that earlier processes left; then calls are denied',
    fallback: 1_024,
    min: 16,
    max: 1_048_576,
  }),
  auditInput: choice({
    name: 'TOLLGATE_AUDIT_INPUT',
    describe: 'What entries keep of a tool input',
    fallback: 'full',
    choices: ['full', 'digest'],
  }),
  gatewayFile: text({
    name: 'TOLLGATE_GATEWAY_FILE',
    describe: 'JSON file of the MCP servers and HTTP tools behind this sidecar; absent: those that the control plane defines',
    fallback: null,
  }),
  toolCommands: text({
    name: 'TOLLGATE_TOOL_COMMANDS',
    describe:
      'Programs that this sidecar may start as tool servers for the control plane, with any arguments, separated by commas; absent: none',
    fallback: null,
    check: commandsProblem,
  }),
  allowPrivateToolServers: choice({
    name: 'TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS',
    describe:
      'Let tool servers that the control plane defines be at loopback, private and link-local addresses, and on plain http; those of the gateway file always may',
    fallback: 'false',
    choices: ['true', 'false'],
  }),
  requestsPerSecond: integer({
    name: 'TOLLGATE_REQUESTS_PER_SECOND',
    describe: 'Requests a second for each key, through all doors together; further requests are refused with the time to retry',
    fallback: requestsPerSecondDefault,
    min: 1,
    max: 1_000_000,
  }),
  hookStatus: choice({
    name: 'TOLLGATE_HOOK_STATUS',
    describe:
      'How `/govern/tool-use` and `/govern/tool-output` answer a request that they refuse: `decision` for 200 with a decision, `http` for the statuses of the previous version (400, 413, 415, 429, 503). `http` is deprecated and supported for one version: clients run the call when the status is not 2xx',
    fallback: 'decision',
    choices: ['decision', 'http'],
  }),
  allowPlaintext: choice({
    name: 'TOLLGATE_ALLOW_PLAINTEXT',
    describe: 'Whether connections beyond loopback may be plain text',
    fallback: 'false',
    choices: ['true', 'false'],
  }),
  ca: text({
    name: 'TOLLGATE_CA',
    describe:
      "The only certificate authorities that are trusted for the control plane's certificate, as PEM (in one line: `\\n` for line ends); if set, TLS is used, on loopback too",
    fallback: null,
    check: authoritiesProblem,
  }),
  enrol: text({
    name: 'TOLLGATE_ENROL',
    describe: 'Address where the sidecar requests and renews its own certificate, `host:port`; needs `TOLLGATE_CA`',
    fallback: null,
    check: addressProblem,
  }),
  tokenFile: text({
    name: 'TOLLGATE_TOKEN_FILE',
    describe: 'File of the service-account token for certificate requests, read for each request; absent: `TOLLGATE_KEY` is used',
    fallback: null,
  }),
  tlsDir: text({
    name: 'TOLLGATE_TLS_DIR',
    describe: 'Folder of tls.crt, tls.key and ca.crt that another program renews; in place of `TOLLGATE_CA` and `TOLLGATE_ENROL`',
    fallback: null,
  }),
  sidecarId: text({ name: 'TOLLGATE_SIDECAR_ID', describe: 'A name for this sidecar, for people', fallback: null, check: nameProblem }),
  pinAgent: text({
    name: 'TOLLGATE_PIN_AGENT',
    describe:
      'The agent name of every caller of this sidecar, whatever it claims; absent: the claimed name. A pin of the key has precedence',
    fallback: null,
    check: nameProblem,
  }),
  pinTier: text({
    name: 'TOLLGATE_PIN_TIER',
    describe: `The tier of every call, in the same way: ${tiers.map((tier) => `\`${tier}\``).join(', ')}`,
    fallback: null,
    check: (value) => (isTier(value) ? null : `must be one of ${tiers.join(', ')}`),
  }),
  logLevel: choice({
    name: 'TOLLGATE_LOG_LEVEL',
    describe: 'Least level that is logged',
    fallback: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
  }),
} as const;

export type SidecarConfig = ConfigOf<typeof sidecarSchema>;
