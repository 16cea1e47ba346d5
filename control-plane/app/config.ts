// Defines the environment variables of the control plane. One schema gives types, defaults, checks and the table in
// docs/reference/environment.md.
import { isIP } from 'node:net';
import { commandsProblem, type ConfigOf, choice, integer, isLoopback, isSlug, parseKey, text } from '@tollgate/proto/contract';
import { endpointProblem, headersProblem, isPlaintextBeyond } from '../audit/export/settings.ts';
import { baseUrlProblem, modelEndpointsProblem, parseModelEndpoints } from '../agents/rules/model-endpoints.ts';
import { checkEmail } from '../access/rules/member.ts';
import { callMsDefault } from '../runs/mcp/reach.ts';

const port = (name: string, describe: string, fallback: number) => integer({ name, describe, fallback, min: 0, max: 65_535 });

/**
 * The default limit for each key: a quarter of the hooks that one replica can answer. If one key sends a flood of
 * requests, there is still time for the other callers.
 */
const hooksPerSecondDefault = 250;

export const configSchema = {
  host: text({ name: 'TOLLGATE_HOST', describe: 'where it listens', fallback: '127.0.0.1' }),
  port: port('TOLLGATE_PORT', 'port of REST', 8080),
  grpcPort: port('TOLLGATE_GRPC_PORT', 'port of gRPC, for sidecars', 8081),
  allowPlaintext: choice({
    name: 'TOLLGATE_ALLOW_PLAINTEXT',
    describe: 'listen without TLS beyond loopback',
    fallback: 'false',
    choices: ['true', 'false'],
  }),
  databaseUrl: text({
    name: 'DATABASE_URL',
    describe: 'PostgreSQL 15 or later; absent: an embedded one',
    fallback: null,
    // The URL can contain a password.
    secret: true,
    check: (value) => (/^postgres(?:ql)?:\/\//.test(value) ? null : 'must begin with postgres://'),
  }),
  dataDir: text({
    name: 'TOLLGATE_DATA_DIR',
    describe: 'folder of the embedded PostgreSQL, of the checkpoint key, and of entries of runs until they are in the database',
    fallback: './.tollgate',
  }),
  workspace: text({
    name: 'TOLLGATE_WORKSPACE',
    describe: 'slug of the first workspace',
    fallback: 'default',
    check: (value) => (isSlug(value) ? null : 'must be 1 to 40 of a-z 0-9 and -, neither first nor last, and no reserved word'),
  }),
  ownerEmail: text({
    name: 'TOLLGATE_OWNER_EMAIL',
    describe: "e-mail of the first workspace's owner",
    fallback: 'owner@localhost',
    check: (value) => checkEmail(value)[0]?.message ?? null,
  }),
  ownerKey: text({
    name: 'TOLLGATE_OWNER_KEY',
    describe: "the first owner's key; absent: one is made and printed once",
    fallback: null,
    secret: true,
    check: (value) => (parseKey(value) === null ? 'must be a key: gsk_<workspace>_ and 32 to 64 letters and digits' : null),
  }),
  operatorKey: text({
    name: 'TOLLGATE_OPERATOR_KEY',
    describe: 'key that allows creating and removing workspaces; absent: these requests are not possible',
    fallback: null,
    secret: true,
    check: (value) => (/^[\x21-\x7e]{32,}$/.test(value) ? null : 'must be at least 32 printable characters without blanks'),
  }),
  publicUrl: text({
    name: 'TOLLGATE_PUBLIC_URL',
    describe:
      'URL under which browsers reach the control plane; with https, or with TOLLGATE_REST_TLS_DIR, cookies are sent only over https',
    fallback: null,
    check: (value) => originProblem(value),
  }),
  traceUrl: text({
    name: 'TOLLGATE_TRACE_URL',
    describe:
      'URL of a trace in your tracing system, with `{traceId}` in its place, such as `https://grafana.example.com/trace/{traceId}`; the console links to it; absent: no link',
    fallback: null,
    check: (value) => traceUrlProblem(value),
  }),
  oidcIssuer: text({
    name: 'TOLLGATE_OIDC_ISSUER',
    describe: 'OpenID Connect issuer that members may sign in with',
    fallback: null,
    check: (value) => secureUrlProblem(value),
  }),
  oidcClientId: text({ name: 'TOLLGATE_OIDC_CLIENT_ID', describe: 'client id of this control plane at the issuer', fallback: null }),
  oidcClientSecret: text({
    name: 'TOLLGATE_OIDC_CLIENT_SECRET',
    describe: 'client secret at the issuer; absent: the control plane is a public client',
    fallback: null,
    secret: true,
  }),
  secretKey: text({
    name: 'TOLLGATE_SECRET_KEY',
    describe:
      'encrypts secrets in the database: headers and variables of tool servers, and the key of the authority behind TOLLGATE_ENROL_PORT; several keys are separated by commas: the first one encrypts, and all of them decrypt ([docs/operate/rotate.md](docs/operate/rotate.md#rotate-the-secret-key)); absent: such secrets are refused',
    fallback: null,
    secret: true,
    check: secretKeysProblem,
  }),
  toolCommands: text({
    name: 'TOLLGATE_TOOL_COMMANDS',
    describe: 'programs that owners and admins may register as tool servers, with any arguments, separated by commas; absent: none',
    fallback: null,
    check: commandsProblem,
  }),
  allowPrivateToolServers: choice({
    name: 'TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS',
    describe: 'allow tool servers, and channels of approvals, at loopback, private and link-local addresses, and over plain http',
    fallback: 'false',
    choices: ['true', 'false'],
  }),
  toolTimeoutMs: integer({
    name: 'TOLLGATE_TOOL_TIMEOUT_MS',
    describe: 'how long one call of a tool may take in a run, connecting included',
    fallback: callMsDefault,
    min: 100,
    max: 3_600_000,
  }),
  defaultPermission: choice({
    name: 'TOLLGATE_DEFAULT_PERMISSION',
    describe: 'permission of a call that no policy names',
    fallback: 'allow',
    choices: ['allow', 'deny'],
  }),
  windowSeconds: integer({
    name: 'TOLLGATE_RATE_WINDOW_SECONDS',
    describe: 'length of the window of `rateLimit`',
    fallback: 60,
    min: 1,
    max: 86_400,
  }),
  patchPerMinute: integer({
    name: 'TOLLGATE_PATCH_PER_MINUTE',
    describe: 'PATCH requests of agents, a minute for each key',
    fallback: 30,
    min: 1,
    max: 100_000,
  }),
  dailyCapCents: integer({
    name: 'TOLLGATE_DAILY_CAP_CENTS',
    describe: "largest cost of one user's runs in a UTC day, in cents",
    fallback: 5_000,
    min: 1,
    max: 100_000_000,
  }),
  runsAtOnce: integer({
    name: 'TOLLGATE_RUNS_AT_ONCE',
    describe: 'active runs of one workspace in this process at once, without the runs that other runs started',
    fallback: 100,
    min: 1,
    max: 10_000,
  }),
  requestsPerSecond: integer({
    name: 'TOLLGATE_REQUESTS_PER_SECOND',
    describe: 'hook requests a second for each key',
    fallback: hooksPerSecondDefault,
    min: 1,
    max: 1_000_000,
  }),
  hookStatus: choice({
    name: 'TOLLGATE_HOOK_STATUS',
    describe:
      'what `/govern/tool-use` and `/govern/tool-output` answer to requests that they refuse: 200 with a decision, or `http` for the statuses of the previous version (400, 413, 415, 429). Deprecated, for one version: clients run the call if the status is not 2xx',
    fallback: 'decision',
    choices: ['decision', 'http'],
  }),
  drainMs: integer({
    name: 'TOLLGATE_DRAIN_MS',
    describe: 'how long runs may take to finish at a stop, in ms; then they are cancelled',
    fallback: 30_000,
    min: 0,
    max: 3_600_000,
  }),
  auditRetentionDays: integer({
    name: 'TOLLGATE_AUDIT_RETENTION_DAYS',
    describe: 'how long audit entries are kept, and runs that have ended, with their transcripts',
    fallback: 90,
    min: 1,
    max: 36_500,
  }),
  auditExportEndpoint: text({
    name: 'TOLLGATE_AUDIT_EXPORT_ENDPOINT',
    describe:
      'URL of an OpenTelemetry collector that receives audit entries as logs, such as `https://collector:4318/v1/logs` ([docs/operate/audit-export.md](docs/operate/audit-export.md)); absent: audit entries are not exported',
    fallback: null,
    check: endpointProblem,
  }),
  auditExportHeaders: text({
    name: 'TOLLGATE_AUDIT_EXPORT_HEADERS',
    describe:
      'headers for that collector, `name=value` pairs separated by commas, values percent-encoded, such as `authorization=Bearer%20…`',
    fallback: null,
    secret: true,
    check: headersProblem,
  }),
  checkpointKeyFile: text({
    name: 'TOLLGATE_CHECKPOINT_KEY_FILE',
    describe: 'Ed25519 private key (PEM, PKCS #8) that signs checkpoints of the audit log; absent: one is made in `TOLLGATE_DATA_DIR`',
    fallback: null,
  }),
  enrolPort: text({
    name: 'TOLLGATE_ENROL_PORT',
    describe:
      'port where sidecars get certificates, over TLS; gRPC then accepts only those certificates; `0` takes any free one; absent: gRPC has no TLS of its own',
    fallback: null,
    check: (value) => (/^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port, from 0 to 65535'),
  }),
  tlsNames: text({
    name: 'TOLLGATE_TLS_NAMES',
    describe:
      'DNS names and IP addresses by which sidecars reach it, separated by commas; absent: `localhost`, `127.0.0.1` and the name of the host',
    fallback: null,
    check: serverNamesProblem,
  }),
  tlsDir: text({
    name: 'TOLLGATE_TLS_DIR',
    describe: 'folder with `tls.crt`, `tls.key` and `ca.crt` of gRPC, which another program renews, instead of TOLLGATE_ENROL_PORT',
    fallback: null,
  }),
  restTlsDir: text({
    name: 'TOLLGATE_REST_TLS_DIR',
    describe:
      'folder with `tls.crt` and `tls.key` of REST, which another program renews ([docs/operate/tls.md](docs/operate/tls.md#rest)); absent: REST has no TLS of its own',
    fallback: null,
  }),
  injectPort: text({
    name: 'TOLLGATE_INJECT_PORT',
    describe:
      'port of the webhook that puts sidecars into pods, on the same host, over TLS; 0 takes any free one; absent: there is no webhook',
    fallback: null,
    check: (value) => (/^\d{1,5}$/.test(value) && Number(value) <= 65_535 ? null : 'must be a port, from 0 to 65535'),
  }),
  injectSettings: text({
    name: 'TOLLGATE_INJECT_SETTINGS',
    describe:
      'YAML file with the settings of all sidecars that are put into pods ([docs/operate/kubernetes-settings.md](docs/operate/kubernetes-settings.md))',
    fallback: null,
  }),
  injectName: text({
    name: 'TOLLGATE_INJECT_NAME',
    describe: "name of the webhook's Service, of its MutatingWebhookConfiguration and of the Secret of its certificates",
    fallback: 'tollgate-injector',
    check: (value) =>
      /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(value) ? null : 'must be 1 to 63 of a-z 0-9 and -, neither first nor last',
  }),
  injectCertDir: text({
    name: 'TOLLGATE_INJECT_CERT_DIR',
    describe:
      'folder with `tls.crt` and `tls.key` of the webhook, which another program renews; absent: the webhook creates its own through the Kubernetes API',
    fallback: null,
  }),
  openaiApiKey: text({ name: 'TOLLGATE_OPENAI_API_KEY', describe: 'runs agents on models of OpenAI', fallback: null, secret: true }),
  openaiBaseUrl: text({
    name: 'TOLLGATE_OPENAI_BASE_URL',
    describe: 'another base URL for OpenAI, up to `/v1`; it receives Chat Completions requests',
    fallback: null,
    // Addresses of gateways can contain a token in their path.
    secret: true,
    check: (value) => baseUrlProblem(value, true),
  }),
  anthropicApiKey: text({
    name: 'TOLLGATE_ANTHROPIC_API_KEY',
    describe: 'runs agents on models of Anthropic',
    fallback: null,
    secret: true,
  }),
  anthropicBaseUrl: text({
    name: 'TOLLGATE_ANTHROPIC_BASE_URL',
    describe: 'another base URL for Anthropic, up to `/v1`',
    fallback: null,
    secret: true,
    check: (value) => baseUrlProblem(value, true),
  }),
  modelEndpoints: text({
    name: 'TOLLGATE_MODEL_ENDPOINTS',
    describe:
      'OpenAI-compatible endpoints, a JSON list of `{provider, baseUrl, keyVariable?, maxOutputTokens?, models?}`; `keyVariable` names the variable that holds the key, `models` are `{name, inputCentsPerMillionTokens, outputCentsPerMillionTokens, …}` besides the built-in ones of the provider',
    fallback: null,
    secret: true,
    check: (value) => modelEndpointsProblem(value),
  }),
  logLevel: choice({
    name: 'TOLLGATE_LOG_LEVEL',
    describe: 'least level of log lines',
    fallback: 'info',
    choices: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
  }),
};

export type Config = ConfigOf<typeof configSchema>;

/** Checks that the variables for sign-in, which need each other, are set together. */
export function signInProblems({ publicUrl, oidcIssuer, oidcClientId, oidcClientSecret }: Config): readonly string[] {
  if (oidcIssuer === null) {
    const idle = [oidcClientId !== null && 'TOLLGATE_OIDC_CLIENT_ID', oidcClientSecret !== null && 'TOLLGATE_OIDC_CLIENT_SECRET'];
    return idle.filter((name) => name !== false).map((name) => `${name} needs TOLLGATE_OIDC_ISSUER`);
  }
  const needed = [publicUrl === null && 'TOLLGATE_PUBLIC_URL', oidcClientId === null && 'TOLLGATE_OIDC_CLIENT_ID'];
  return needed.filter((name) => name !== false).map((name) => `TOLLGATE_OIDC_ISSUER needs ${name}`);
}

/** Reports what the injection webhook still needs, and variables that have no effect without the webhook. */
export function injectProblems({ injectPort, injectSettings, injectCertDir }: Config): readonly string[] {
  if (injectPort !== null) return injectSettings === null ? ['TOLLGATE_INJECT_PORT needs TOLLGATE_INJECT_SETTINGS'] : [];
  const idle = [injectSettings !== null && 'TOLLGATE_INJECT_SETTINGS', injectCertDir !== null && 'TOLLGATE_INJECT_CERT_DIR'];
  return idle.filter((name) => name !== false).map((name) => `${name} needs TOLLGATE_INJECT_PORT`);
}

/** Reports what the export of audit entries still needs, and variables that have no effect without the export. */
export function exportProblems({ auditExportEndpoint, auditExportHeaders, allowPlaintext }: Config): readonly string[] {
  if (auditExportEndpoint === null)
    return auditExportHeaders === null ? [] : ['TOLLGATE_AUDIT_EXPORT_HEADERS needs TOLLGATE_AUDIT_EXPORT_ENDPOINT'];
  if (allowPlaintext === 'true' || !isPlaintextBeyond(auditExportEndpoint)) return [];
  return [
    'TOLLGATE_AUDIT_EXPORT_ENDPOINT is http:// beyond loopback, where audit entries and headers could be read; use https://, or set TOLLGATE_ALLOW_PLAINTEXT=true',
  ];
}

/** Reports what would be plain text beyond loopback, without the consent of the operator. */
export function plaintextProblems({ host, allowPlaintext, restTlsDir, enrolPort, tlsDir }: Config): readonly string[] {
  if (allowPlaintext === 'true' || isLoopback(host)) return [];
  const plain = [
    ...(restTlsDir === null ? [{ name: 'REST', needs: 'TOLLGATE_REST_TLS_DIR' }] : []),
    ...(enrolPort === null && tlsDir === null ? [{ name: 'gRPC', needs: 'TOLLGATE_ENROL_PORT or TOLLGATE_TLS_DIR' }] : []),
  ];
  if (plain.length === 0) return [];
  const names = plain.map(({ name }) => name).join(' and ');
  const needs = plain.map(({ name, needs: variable }) => `${variable} for ${name}`).join(', and ');
  return [
    `TOLLGATE_HOST is ${host}, which is not loopback, and ${names} would be plain text; set ${needs}; or put TLS in front, and set TOLLGATE_ALLOW_PLAINTEXT=true to listen without TLS`,
  ];
}

/** Reports what the certificates of gRPC still need, and settings that contradict each other. */
export function tlsProblems({ enrolPort, tlsNames, tlsDir, secretKey, restTlsDir, publicUrl }: Config): readonly string[] {
  const rest =
    restTlsDir !== null && publicUrl?.startsWith('http:') === true
      ? ['TOLLGATE_PUBLIC_URL must begin with https://, because REST has TLS (TOLLGATE_REST_TLS_DIR)']
      : [];
  if (enrolPort === null) return [...rest, ...(tlsNames === null ? [] : ['TOLLGATE_TLS_NAMES needs TOLLGATE_ENROL_PORT'])];
  return [
    ...rest,
    ...(tlsDir === null
      ? []
      : [
          'TOLLGATE_TLS_DIR is for certificates from another program, and TOLLGATE_ENROL_PORT for its own certificates; set only one of them',
        ]),
    ...(secretKey === null ? ['TOLLGATE_ENROL_PORT needs TOLLGATE_SECRET_KEY, which encrypts the key of its authority'] : []),
  ];
}

/** Splits `TOLLGATE_SECRET_KEY` at commas. The parts are not trimmed or changed. */
export const secretKeysIn = (text: string): readonly string[] => text.split(',');

const secretKeysMax = 10;

/**
 * Returns why the secret keys are not valid; null: they are valid. The message names a key by its position only and
 * must not contain any part of a key.
 */
function secretKeysProblem(value: string): string | null {
  const keys = secretKeysIn(value);
  const least = 'at least 32 characters';
  if (keys.length === 1) return value.length >= 32 ? null : `must be ${least}`;
  if (keys.length > secretKeysMax) return `must be at most ${secretKeysMax} keys`;
  const flaws = keys.flatMap((key, at) => {
    const flaw = secretKeyFlaw(key, keys.slice(0, at));
    return flaw === null ? [] : [`key ${at + 1} of ${keys.length} ${flaw}`];
  });
  return flaws.length === 0 ? null : `must be keys of ${least} each, separated by commas: ${flaws.join('; ')}`;
}

function secretKeyFlaw(key: string, before: readonly string[]): string | null {
  // White space that is there by mistake would produce a different key, and that key cannot decrypt anything.
  if (key.trim() !== key) return 'begins or ends with white space';
  if (key.length < 32) return 'is too short';
  return before.includes(key) ? `is key ${before.indexOf(key) + 1} again` : null;
}

/** Splits `TOLLGATE_TLS_NAMES` at commas. */
export const serverNamesIn = (text: string): readonly string[] => text.split(',').map((name) => name.trim());

export function serverNamesProblem(value: string): string | null {
  const label = '[a-z0-9_](?:[-a-z0-9_]{0,61}[a-z0-9_])?';
  const dnsName = new RegExp(`^(?=.{1,253}$)${label}(?:\\.${label})*$`, 'i');
  // A text that looks like an IPv4 address but is not a valid address is not accepted as a name either.
  const isName = (name: string): boolean => (isIP(name) === 0 ? dnsName.test(name) && !/(?:^|\.)\d+$/.test(name) : !name.includes('%'));
  const names = serverNamesIn(value);
  const wrong = names.find((name) => !isName(name));
  if (wrong !== undefined) return `must be DNS names and IP addresses, separated by commas; ${JSON.stringify(wrong)} is neither`;
  return names.length > 50 ? 'must be at most 50 names' : null;
}

/**
 * Checks what models need in addition to their own variables: each base URL needs a key, and the variables that
 * endpoints name for their keys must be set.
 */
export function modelProblems(config: Config, env: Readonly<Record<string, string | undefined>>): readonly string[] {
  const idle = [
    config.openaiBaseUrl !== null && config.openaiApiKey === null && 'TOLLGATE_OPENAI_BASE_URL needs TOLLGATE_OPENAI_API_KEY',
    config.anthropicBaseUrl !== null && config.anthropicApiKey === null && 'TOLLGATE_ANTHROPIC_BASE_URL needs TOLLGATE_ANTHROPIC_API_KEY',
  ].filter((problem) => problem !== false);
  const named = parseModelEndpoints(config.modelEndpoints).flatMap(({ keyVariable }) => keyVariable ?? []);
  const unset = named.filter((name) => env[name] === undefined || env[name] === '');
  return [...idle, ...unset.map((name) => `TOLLGATE_MODEL_ENDPOINTS needs ${name}, which is not set`)];
}

function secureUrlProblem(value: string): string | null {
  const problem = 'must begin with https://, or with http:// on loopback';
  if (!URL.canParse(value)) return problem;
  const { protocol, hostname, username, password } = new URL(value);
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')))) return problem;
  return username === '' && password === '' ? null : 'must hold no user and no password';
}

/** The id in a trace URL comes from the caller of a tool, so it must not choose the server. */
function traceUrlProblem(value: string): string | null {
  const example = 'such as https://grafana.example.com/trace/{traceId}';
  if (!value.includes('{traceId}')) return `must contain {traceId}, ${example}`;
  const [one, other] = ['a', 'b'].map((id) => value.replaceAll('{traceId}', id));
  if (one === undefined || other === undefined || !URL.canParse(one) || !/^https?:$/.test(new URL(one).protocol))
    return `must be an http:// or https:// URL, ${example}`;
  if (new URL(one).origin !== new URL(other).origin) return `must have {traceId} after the host, ${example}`;
  const { username, password } = new URL(one);
  return username === '' && password === '' ? null : 'must hold no user and no password';
}

const originProblem = (value: string): string | null =>
  secureUrlProblem(value) ??
  (new URL(value).origin === value.replace(/\/$/, '') ? null : 'must be scheme, host and port, in lower case, and no path');
