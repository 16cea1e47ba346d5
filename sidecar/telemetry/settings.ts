// Reads from the OpenTelemetry variables what a process must send, and where. A setting that cannot be followed is
// reported with the name of its variable: the SDK, which reads most variables itself, would silently use another value.
// The SDK's limits and attributes are not checked here.

const signals = ['traces', 'metrics', 'logs'] as const;
export type Signal = (typeof signals)[number];

export interface TelemetrySettings {
  readonly on: ReadonlySet<Signal>;
  readonly metricIntervalMs: number;
}

type Env = Readonly<Record<string, string | undefined>>;

const spoken = 'http/json';
const metricIntervalMs = 60_000;

/** Returns the settings, or all problems. If no endpoint is configured, nothing is sent. */
export function readTelemetrySettings(env: Env): { readonly settings: TelemetrySettings } | { readonly problems: readonly string[] } {
  const off = { settings: { on: new Set<Signal>(), metricIntervalMs } };
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return off;
  const asked = signals.filter((signal) => isAsked(env, signal));
  if (asked.length === 0) return off;
  const interval = env['OTEL_METRIC_EXPORT_INTERVAL'] ?? '';
  const problems = [
    ...new Set(
      asked.flatMap((signal) => [...endpointProblems(env, signal), ...protocolProblems(env, signal), ...wayProblems(env, signal)]),
    ),
    ...(asked.includes('traces') ? samplerProblems(env) : []),
    ...signals.flatMap((signal) => exporterProblems(env, signal)),
    ...(interval === '' || isInterval(interval)
      ? []
      : [`OTEL_METRIC_EXPORT_INTERVAL must be milliseconds from 100 to 86400000, is "${interval}"`]),
  ];
  if (problems.length > 0) return { problems };
  return { settings: { on: new Set(asked), metricIntervalMs: interval === '' ? metricIntervalMs : Number(interval) } };
}

const isInterval = (text: string): boolean => /^\d{3,8}$/.test(text) && Number(text) >= 100 && Number(text) <= 86_400_000;

/** The variable for one signal, and the variable for all signals. */
const endpointsOf = (signal: Signal): readonly string[] => [
  `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`,
  'OTEL_EXPORTER_OTLP_ENDPOINT',
];
const exporterOf = (signal: Signal): string => `OTEL_${signal.toUpperCase()}_EXPORTER`;

const isAsked = (env: Env, signal: Signal): boolean =>
  env[exporterOf(signal)] !== 'none' && endpointsOf(signal).some((name) => (env[name] ?? '').trim() !== '');

/** Returns the problems of the addresses. An address may contain a password, so the message does not repeat it. */
function endpointProblems(env: Env, signal: Signal): readonly string[] {
  return endpointsOf(signal).flatMap((name) => {
    const value = (env[name] ?? '').trim();
    if (value === '' || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) return [];
    return [`${name} must be an address that begins with http:// or https://`];
  });
}

function protocolProblems(env: Env, signal: Signal): readonly string[] {
  return [`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL'].flatMap((name) => {
    const value = (env[name] ?? '').trim();
    if (value === '' || value === spoken) return [];
    return [
      `${name} must be ${spoken} or absent, is "${value}": no other protocol is supported; collectors accept it on the port of OTLP over HTTP, 4318`,
    ];
  });
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Checks headers, compression and timeout, for one signal and for all. The message does not repeat the value of a
 * header.
 */
function wayProblems(env: Env, signal: Signal): readonly string[] {
  const check = (of: string, isGood: (value: string) => boolean, must: string): readonly string[] =>
    [`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_${of}`, `OTEL_EXPORTER_OTLP_${of}`].flatMap((name) => {
      const value = (env[name] ?? '').trim();
      return value === '' || isGood(value) ? [] : [`${name} must be ${must}`];
    });
  return [
    ...check('HEADERS', areHeaders, 'name=value pairs separated by commas, with values percent-encoded'),
    ...check('COMPRESSION', (value) => value === 'gzip' || value === 'none', 'gzip or none'),
    ...check('TIMEOUT', (value) => /^[1-9]\d{0,7}$/.test(value), 'milliseconds from 1 to 99999999'),
  ];
}

const areHeaders = (value: string): boolean =>
  value
    .split(',')
    .filter((pair) => pair.trim() !== '')
    .every((pair) => {
      const at = pair.indexOf('=');
      return at > 0 && token.test(pair.slice(0, at).trim()) && isDecodable(pair.slice(at + 1));
    });

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const samplers = ['always_on', 'always_off', 'traceidratio'].flatMap((name) => [name, `parentbased_${name}`]);

function samplerProblems(env: Env): readonly string[] {
  const sampler = env['OTEL_TRACES_SAMPLER'] ?? '';
  const share = (env['OTEL_TRACES_SAMPLER_ARG'] ?? '').trim();
  if (sampler !== '' && !samplers.includes(sampler)) return [`OTEL_TRACES_SAMPLER must be one of ${samplers.join(', ')}, is "${sampler}"`];
  const isRatio = sampler.endsWith('traceidratio') && share !== '';
  return isRatio && !(Number(share) >= 0 && Number(share) <= 1)
    ? [`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, is "${share}"`]
    : [];
}

function exporterProblems(env: Env, signal: Signal): readonly string[] {
  const name = exporterOf(signal);
  const value = env[name] ?? '';
  if (['', 'none', 'otlp'].includes(value)) return [];
  const hint = value === 'prometheus' ? '; Prometheus can read /metrics with any setting' : '';
  return [`${name} must be otlp or none, is "${value}"${hint}`];
}
