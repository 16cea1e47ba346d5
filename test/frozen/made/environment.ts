// The environment variables of each program: from their schemas, from the list of injection, and for the command line
// and others from the code that reads the environment.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ConfigSchema, hosts, type Variable } from '@tollgate/proto/contract';
import { readTelemetrySettings } from '@tollgate/sidecar/telemetry';
import { hostSettings } from '../../../cli/hooks/host-settings.ts';
import { configSchema } from '../../../control-plane/app/config.ts';
import { variablesForApps } from '../../../deploy/inject/app-environment.ts';
import { sidecarSchema } from '../../../sidecar/app/config.ts';
import { programEnvironment } from '../../../sidecar/upstream/program.ts';
import { textOf } from './lines.ts';

export const environmentText = (): string =>
  textOf([
    { heading: 'of the control plane: name, type, default', lines: schemaLines(configSchema) },
    { heading: 'of a sidecar: name, type, default', lines: schemaLines(sidecarSchema) },
    { heading: 'of the command line', lines: variablesOfCli() },
    { heading: 'that injection gives to an app', lines: variablesForApps },
    { heading: 'of others, that the control plane reads', lines: foreign(readIn('control-plane')) },
    {
      heading: 'of others, that a sidecar and the control plane read, to give them to the programs that they start',
      lines: foreign([...readIn('sidecar', (path) => !path.startsWith('examples/')), ...namesRead(programEnvironment)]),
    },
    {
      heading: 'of others, that the command line reads',
      lines: foreign([...readIn('cli'), ...namesRead(readHostFolders)]),
    },
    { heading: 'of OpenTelemetry, that the control plane and a sidecar read', lines: [...namesRead(readTelemetry), ...documented()] },
  ]);

/** Variables of ours that commands other than `start` read. */
export const variablesOfCli = (): readonly string[] => [...new Set(readIn('cli').filter((name) => name.startsWith('TOLLGATE_')))];

const schemaLines = (schema: ConfigSchema): readonly string[] => Object.values(schema).map(variableLine);

/** A schema marks a required variable only by a description that ends in `; required`. */
function variableLine(variable: Variable<unknown>): string {
  const { name, fallback, secret, describe } = variable;
  const absent = describe.endsWith('; required') ? 'required' : fallback === '' ? 'no default' : `default ${fallback}`;
  return [name, typeOf(variable), ...(secret ? ['secret'] : []), absent].join(', ');
}

/** Derives the type from the variable's error for an impossible value. */
function typeOf({ parse }: Variable<unknown>): string {
  const parsed = parse('\u0000');
  const problem = 'problem' in parsed ? parsed.problem : '';
  const [, min, max] = /^must be an integer from (\d+) to (\d+), is/.exec(problem) ?? [];
  if (min !== undefined) return `integer from ${min} to ${max}`;
  const [, choices] = /^must be one of (.*), is/.exec(problem) ?? [];
  return choices === undefined ? 'text' : `one of ${choices}`;
}

const foreign = (names: readonly string[]): readonly string[] =>
  names.filter((name) => !name.startsWith('TOLLGATE_') && !name.startsWith('OTEL_') && name !== 'DATABASE_URL');

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The names that sources read as literals, `env['NAME']`. */
function readIn(program: string, isOf: (path: string) => boolean = () => true): readonly string[] {
  return readdirSync(join(root, program), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.includes('node_modules') && !path.startsWith('dist/') && isOf(path))
    .map((path) => readFileSync(join(root, program, path), 'utf8'))
    .flatMap((source) => [...source.matchAll(/\benv(?:\?\.)?\['([A-Z][A-Z0-9_]*)'\]/g)].map(([, name = '']) => name));
}

type Env = Readonly<Record<string, string | undefined>>;

/** The names that are requested at run time, including computed ones. */
function namesRead(read: (env: Env) => unknown): readonly string[] {
  const names = new Set<string>();
  read(
    new Proxy<Env>(
      {},
      {
        get: (_env, name) => {
          if (name !== '') names.add(String(name));
          // With an endpoint set, the code reads all other variables too.
          return name === 'OTEL_EXPORTER_OTLP_ENDPOINT' ? 'http://127.0.0.1:4318' : undefined;
        },
      },
    ),
  );
  return [...names];
}

function readTelemetry(env: Env): void {
  readTelemetrySettings(env);
  const sampling: Env = { OTEL_TRACES_SAMPLER: 'traceidratio' };
  // The argument is read only for a sampler that takes one.
  readTelemetrySettings(new Proxy(env, { get: (target, name) => sampling[String(name)] ?? target[String(name)] }));
}

const readHostFolders = (env: Env): readonly string[] => hosts.map((host) => hostSettings[host].folder({ env, home: '/home/ann' }));

/** Variables that the SDK and Node read themselves: docs/operate/collector.md documents them. */
const documented = (): readonly string[] =>
  [...readFileSync(join(root, 'docs/operate/collector.md'), 'utf8').matchAll(/`((?:OTEL|NODE)_[A-Z_]+)\b/g)].map(([, name = '']) => name);
