// Converts environment variables to a program's configuration, by one schema that also produces the table in
// docs/reference/environment.md. All mistakes are reported at once. An unknown variable with the prefix TOLLGATE_ is a
// mistake too.

export interface Variable<T> {
  readonly name: string;
  readonly describe: string;
  /** The meaning of an absent variable, as shown in the reference. */
  readonly fallback: string;
  readonly secret: boolean;
  readonly parse: (text: string | undefined) => { readonly value: T } | { readonly problem: string };
}

export type ConfigSchema = Readonly<Record<string, Variable<unknown>>>;
export type ConfigOf<S extends ConfigSchema> = { readonly [K in keyof S]: S[K] extends Variable<infer T> ? T : never };

interface Named {
  readonly name: string;
  readonly describe: string;
}

export function text<const F extends string | null>(
  field: Named & { readonly fallback: F; readonly secret?: boolean; readonly check?: (value: string) => string | null },
): Variable<string | F> {
  const { name, describe, fallback, secret = false, check = () => null } = field;
  return {
    name,
    describe,
    fallback: fallback ?? '',
    secret,
    parse: (raw) => {
      if (raw === undefined || raw === '') return { value: fallback };
      const problem = check(raw);
      return problem === null ? { value: raw } : { problem };
    },
  };
}

export function integer(field: Named & { readonly fallback: number; readonly min: number; readonly max: number }): Variable<number> {
  const { name, describe, fallback, min, max } = field;
  return {
    name,
    describe,
    fallback: String(fallback),
    secret: false,
    parse: (raw) => {
      if (raw === undefined || raw === '') return { value: fallback };
      const value = Number(raw);
      if (!/^\d+$/.test(raw) || value < min || value > max)
        return { problem: `must be an integer from ${min} to ${max}, is ${JSON.stringify(raw)}` };
      return { value };
    },
  };
}

export function choice<const C extends string>(field: Named & { readonly fallback: C; readonly choices: readonly C[] }): Variable<C> {
  const { name, describe, fallback, choices } = field;
  return {
    name,
    describe: `${describe}: ${choices.map((one) => `\`${one}\``).join(', ')}`,
    fallback,
    secret: false,
    parse: (raw) => {
      if (raw === undefined || raw === '') return { value: fallback };
      const value = choices.find((one) => one === raw);
      return value === undefined ? { problem: `must be one of ${choices.join(', ')}, is ${JSON.stringify(raw)}` } : { value };
    },
  };
}

/**
 * Kubernetes sets these variables in every container of a namespace that has a Service called `tollgate…`. Variables
 * that only look similar are not matched.
 */
const isServiceLink = (name: string, value: string | undefined): boolean =>
  /_SERVICE_(?:HOST|PORT(?:_[A-Z0-9_]+)?)$|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
  (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value ?? ''));

/**
 * Returns the configuration, or every problem, each with the name of its variable. `others`: the variables of the other
 * program. They are accepted, so that both programs may share an environment.
 */
export function readConfig<S extends ConfigSchema>(
  schema: S,
  env: Readonly<Record<string, string | undefined>>,
  others: readonly string[] = [],
): { readonly config: ConfigOf<S> } | { readonly problems: readonly string[] } {
  const problems: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [field, variable] of Object.entries(schema)) {
    // A Service called `tollgate-metrics` makes Kubernetes set TOLLGATE_METRICS_PORT. That value is not a setting of
    // Tollgate and is ignored.
    const raw = isServiceLink(variable.name, env[variable.name]) ? undefined : env[variable.name];
    const parsed = variable.parse(raw);
    if ('problem' in parsed)
      problems.push(`${variable.name} ${variable.secret ? parsed.problem.replaceAll(raw ?? '', '***') : parsed.problem}`);
    else config[field] = parsed.value;
  }
  const known = new Set([...Object.values(schema).map((variable) => variable.name), ...others]);
  for (const name of Object.keys(env)) {
    if (name.startsWith('TOLLGATE_') && !known.has(name) && !isServiceLink(name, env[name]))
      problems.push(`${name} is not a variable of this program`);
  }
  // The loop above has set every field with its own parser.
  return problems.length > 0 ? { problems } : { config: config as ConfigOf<S> };
}

/** Returns a configuration that is safe to print. */
export function printableConfig<S extends ConfigSchema>(schema: S, config: ConfigOf<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([field, variable]) => [field, variable.secret && config[field] !== null ? '***' : config[field]]),
  );
}

/** Returns the table of docs/reference/environment.md. */
export function configTable(schema: ConfigSchema): string {
  const rows = Object.values(schema).map(
    ({ name, describe, fallback }) => `| \`${name}\` | ${describe} | ${fallback === '' ? '' : `\`${fallback}\``} |`,
  );
  return ['| variable | meaning | default |', '|---|---|---|', ...rows].join('\n');
}
