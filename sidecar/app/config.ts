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
  host: text({ name: 'TOLLGATE_SIDECAR_HOST', describe: 'Where it listens', fallback: '127.0.0.1' }),
  port: integer({
    name: 'TOLLGATE_SIDECAR_PORT',
    describe: 'Port it listens on; 0 takes any free one',
    fallback: 9090,
    min: 0,
    max: 65_535,
  }),
  meshPort: text({
    name: 'TOLLGATE_MESH_PORT',
    describe: "Port of Envoy's ext_authz and agentgateway's ExtMcp, gRPC, on the same host; 0 takes any free one; absent: neither is there",
    fallback: null,
    check: portProblem,
  }),
  metricsPort: text({
    name: 'TOLLGATE_METRICS_PORT',
    describe:
      'Port of `/metrics` and nothing else, on all interfaces, for Prometheus; 0 takes any free one; absent: only where it listens for agents',
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
      'What an entry survives before the caller hears the decision: a kill of the process, a power loss, or (committed by the control plane, for which a call waits 5 s at most) the loss of the machine',
    fallback: 'kernel',
    choices: ['kernel', 'disk', 'remote'],
  }),
  leaseWaitMs: integer({
    name: 'TOLLGATE_LEASE_WAIT_MS',
    describe:
      "How long a call waits, in ms, where what is left of a limit or cap is held by other sidecars; then it is denied and may be tried again. At a coding agent's hook 3,500 at most",
    fallback: bounds.leaseWaitMs,
    min: 10,
    max: 5_000,
  }),
  spoolMaxMb: integer({
    name: 'TOLLGATE_SPOOL_MAX_MB',
    describe: 'How large the spool may grow, in MiB, with what earlier processes left there, before calls are denied',
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
      'Programs that the control plane may have started here as tool servers, with any arguments, separated by commas; absent: none',
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
    describe: 'Requests a second for each key, through all doors together; whoever sends more is told when to come back',
    fallback: requestsPerSecondDefault,
    min: 1,
    max: 1_000_000,
  }),
  hookStatus: choice({
    name: 'TOLLGATE_HOOK_STATUS',
    describe:
      'What `/govern/tool-use` and `/govern/tool-output` answer what they refuse: 200 with a decision, or `http` for the statuses of the version before (400, 413, 415, 429, 503). Deprecated, for one version: clients run the call on what is not 2xx',
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
      "Authorities that the control plane's certificate is checked by, and no others, as PEM (in one line: `\\n` for line ends); given: TLS, on loopback too",
    fallback: null,
    check: authoritiesProblem,
  }),
  enrol: text({
    name: 'TOLLGATE_ENROL',
    describe: 'Where a certificate of its own is asked for and renewed, `host:port`; needs `TOLLGATE_CA`',
    fallback: null,
    check: addressProblem,
  }),
  tokenFile: text({
    name: 'TOLLGATE_TOKEN_FILE',
    describe: 'File of the service-account token to ask with, read each time; absent: it asks with `TOLLGATE_KEY`',
    fallback: null,
  }),
  tlsDir: text({
    name: 'TOLLGATE_TLS_DIR',
    describe: 'Folder of tls.crt, tls.key and ca.crt that somebody else keeps fresh; in place of `TOLLGATE_CA` and `TOLLGATE_ENROL`',
    fallback: null,
  }),
  sidecarId: text({ name: 'TOLLGATE_SIDECAR_ID', describe: 'A name for this sidecar, for people', fallback: null, check: nameProblem }),
  pinAgent: text({
    name: 'TOLLGATE_PIN_AGENT',
    describe: 'The agent that every caller of this sidecar is, whatever it claims; absent: as it claims. A pin of its key goes first',
    fallback: null,
    check: nameProblem,
  }),
  pinTier: text({
    name: 'TOLLGATE_PIN_TIER',
    describe: `The tier that every call is of, in the same way: ${tiers.map((tier) => `\`${tier}\``).join(', ')}`,
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
