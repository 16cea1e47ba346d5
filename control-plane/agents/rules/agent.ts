// Defines agent profiles: their fields, the rules for each field in a create, a PUT and a PATCH, and the form in which
// a profile is shown.
import { bounds, capBounds, childPath, nameProblem, reasonProblem } from '@tollgate/proto/contract';
import { type Checked, isObject, type JsonSchema, type Problem } from '@tollgate/proto/shape';

/** The fields that a caller can write. */
export interface AgentFields {
  readonly name: string;
  readonly model: string;
  readonly systemPrompt: string;
  readonly description: string;
  readonly icon: string;
  readonly enabledTools: readonly string[];
  readonly scopes: readonly string[];
  readonly maxToolCalls: number;
  readonly maxBudgetCents: number;
  readonly maxDurationMs: number;
  readonly maxToolRounds: number;
  readonly delegatable: boolean;
  readonly canDelegate: boolean;
  /** Null: not set, so there is no limit. */
  readonly maxDelegationDepth: number | null;
  /** True: every call and run of the agent is denied. This field is specific to this product. */
  readonly suspended: boolean;
}

export interface Agent extends AgentFields {
  readonly id: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/**
 * The maximum number and total size of the agents in one workspace. A control plane that follows the workspace keeps
 * all its agents in memory.
 */
export const agentBounds = { inWorkspace: 10_000, bytesInWorkspace: 32 * 1_048_576 } as const;

const agentDefaults = {
  systemPrompt: 'You are a helpful autonomous agent.',
  description: '',
  icon: '',
  enabledTools: [],
  scopes: [],
  maxToolCalls: 50,
  maxBudgetCents: 1000,
  maxDurationMs: 1_800_000,
  maxToolRounds: 10,
  delegatable: true,
  canDelegate: false,
  maxDelegationDepth: null,
  suspended: false,
} as const satisfies Omit<AgentFields, 'name' | 'model'>;

type Test = (value: unknown) => string | null;

/** The test `type` always applies. The test `bound` applies to PATCH only, and only to values of the right type. */
interface FieldRule {
  readonly type: Test;
  readonly bound: Test;
  /** Both tests in JSON Schema. `bound` contains only the conditions that `type` does not contain. */
  readonly schema: { readonly type: JsonSchema; readonly bound: JsonSchema };
  readonly description: string;
}

const free: Test = () => null;

const text = (max: number, description: string): FieldRule => ({
  type: (value) => (typeof value === 'string' ? null : 'must be a string'),
  bound: (value) => (typeof value === 'string' && value.length > max ? `must be at most ${max} characters, is ${value.length}` : null),
  schema: { type: { type: 'string' }, bound: { maxLength: max } },
  description,
});

const filled = (bound: (value: string) => string | null, description: string): FieldRule => ({
  type: (value) => (typeof value !== 'string' ? 'must be a string' : value === '' ? 'must not be empty' : null),
  bound: (value) => (typeof value === 'string' ? bound(value) : null),
  schema: { type: { type: 'string', minLength: 1 }, bound: { maxLength: bounds.nameLength } },
  description,
});

const strings = (max: number, description: string): FieldRule => ({
  type: (value) => (Array.isArray(value) && value.every((one) => typeof one === 'string') ? null : 'must be an array of strings'),
  bound: (value) => {
    if (!Array.isArray(value)) return null;
    if (value.length > max) return `must have at most ${max} items, has ${value.length}`;
    const at = value.findIndex((one) => nameProblem(String(one)) !== null);
    return at < 0 ? null : `item ${at} ${nameProblem(String(value[at]))}`;
  },
  schema: {
    type: { type: 'array', items: { type: 'string' } },
    bound: { maxItems: max, items: { type: 'string', minLength: 1, maxLength: bounds.nameLength } },
  },
  description,
});

const flag = (description: string): FieldRule => ({
  type: (value) => (typeof value === 'boolean' ? null : 'must be true or false'),
  bound: free,
  schema: { type: { type: 'boolean' }, bound: {} },
  description,
});

const cap = ({ min, max }: { readonly min: number; readonly max: number }, description: string): FieldRule => ({
  type: (value) => {
    if (!Number.isInteger(value) || Number(value) < 0) return 'must be an integer of at least 0';
    return Number(value) > Number.MAX_SAFE_INTEGER ? `must be at most ${Number.MAX_SAFE_INTEGER}` : null;
  },
  bound: (value) => (Number(value) < min || Number(value) > max ? `must be from ${min} to ${max}` : null),
  schema: { type: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }, bound: { minimum: min, maximum: max } },
  description,
});

const orNull = ({ type, bound, schema, description }: FieldRule): FieldRule => ({
  type: (value) => (value === null || type(value) === null ? null : `${type(value)} or null`),
  bound: (value) => (value === null ? null : bound(value)),
  schema: { ...schema, type: { ...schema.type, type: [schema.type['type'], 'null'] } },
  description,
});

const rules: Readonly<Record<keyof AgentFields, FieldRule>> = {
  name: filled(
    nameProblem,
    'appears on every audit entry of the agent; a new or changed name must hold no control, format (such as bidirectional marks) or unpaired surrogate character',
  ),
  // The catalogue defines which models are recognised.
  model: filled(free, 'model that the agent runs on; `GET /api/v1/models` lists the models'),
  systemPrompt: text(100_000, 'the instructions of the agent'),
  description: text(10_000, 'notes'),
  icon: text(200, 'icon identifier for the console'),
  enabledTools: strings(1000, 'tools that the agent may call; a trailing `*` matches every tool with that prefix; empty: none'),
  scopes: strings(200, 'capability scopes of its identity'),
  maxToolCalls: cap(capBounds.maxToolCalls, 'tool calls in one run'),
  maxBudgetCents: cap(capBounds.maxBudgetCents, 'spend in one run, in cents'),
  maxDurationMs: cap(capBounds.maxDurationMs, 'wall-clock time of one run, in milliseconds'),
  maxToolRounds: cap(capBounds.maxToolRounds, 'rounds of one model call and its tool calls, in one run'),
  delegatable: flag('whether another agent may delegate to it'),
  canDelegate: flag('whether it may delegate'),
  maxDelegationDepth: orNull(cap({ min: 0, max: bounds.delegationDepth }, 'depth of its delegation chains; null removes the limit')),
  suspended: flag('every call and run of the agent is denied; only owners and admins can change it'),
};

const schemaOf = (bound: boolean): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(
    Object.entries(rules).map(([name, { schema, description }]) => [name, { ...schema.type, ...(bound ? schema.bound : {}), description }]),
  );

const withDefaults = (properties: Readonly<Record<string, JsonSchema>>): Readonly<Record<string, JsonSchema>> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const fallback = Object.entries(agentDefaults).find(([key]) => key === name)?.[1];
      return [name, fallback === undefined || fallback === null ? schema : { ...schema, default: fallback }];
    }),
  );

const instant = { type: 'string', format: 'date-time', readOnly: true };
const { maxDelegationDepth: depth, ...always } = schemaOf(false);

/** The schemas of an agent in the API document. */
export const agentSchemas = {
  create: { type: 'object', required: ['name', 'model'], properties: withDefaults(schemaOf(false)) },
  update: { type: 'object', properties: schemaOf(false) },
  patch: { type: 'object', properties: schemaOf(true), additionalProperties: false },
  profile: {
    type: 'object',
    required: ['id', ...Object.keys(always), 'createdAt', 'updatedAt'],
    properties: {
      id: { type: 'string', readOnly: true },
      ...always,
      maxDelegationDepth: { ...depth, type: 'integer', description: 'absent while unset' },
      createdAt: instant,
      updatedAt: instant,
    },
  },
} as const satisfies Readonly<Record<string, JsonSchema>>;

const fieldNames = Object.keys(rules);

const isField = (key: string): key is keyof AgentFields => Object.hasOwn(rules, key);

const problemsOf = (path: string, message: string | null): readonly Problem[] => (message === null ? [] : [{ path, message }]);

/**
 * Returns what is wrong with a name that an agent is to get. People read names in lists and in the log, where a hidden
 * character would make two names look the same, or would change the order of the text around it.
 */
export function renameProblems(name: unknown): readonly Problem[] {
  return typeof name === 'string' ? problemsOf('name', reasonProblem(name)) : [];
}

/** Checks the body of a create. Unknown and read-only fields are ignored, and absent fields get their defaults. */
export function checkNewAgent(body: unknown): Checked<AgentFields> {
  const given = checkAgentUpdate(body);
  const hidden = 'problems' in given ? [] : renameProblems(given.value.name);
  const checked: typeof given = hidden.length > 0 ? { problems: hidden } : given;
  const missing = ['name', 'model'].flatMap((key) =>
    isObject(body) && !Object.hasOwn(body, key) ? [{ path: key, message: 'is required' }] : [],
  );
  if ('problems' in checked) return { problems: [...missing, ...checked.problems] };
  const { name, model } = checked.value;
  return name === undefined || model === undefined ? { problems: missing } : { value: { ...agentDefaults, ...checked.value, name, model } };
}

/** Checks the body of a PUT. Each present field is written, and unknown and read-only fields are ignored. */
export function checkAgentUpdate(body: unknown): Checked<Partial<AgentFields>> {
  return checkFields(body, (key, value) => (isField(key) ? rules[key].type(value) : null));
}

/**
 * Checks the body of a PATCH. It must have no unknown field, only values within their bounds, and a recognised model.
 */
export function checkAgentPatch(body: unknown, recognises: (model: string) => boolean): Checked<Partial<AgentFields>> {
  return checkFields(body, (key, value) => {
    if (!isField(key)) return `is not a writable field; the writable fields are ${fieldNames.join(', ')}`;
    const message = rules[key].type(value) ?? rules[key].bound(value);
    if (message !== null || key !== 'model') return message;
    return typeof value === 'string' && recognises(value) ? null : 'is not a recognized model';
  });
}

function checkFields(body: unknown, check: (key: string, value: unknown) => string | null): Checked<Partial<AgentFields>> {
  if (!isObject(body)) return { problems: [{ path: 'body', message: 'must be an object' }] };
  const problems = Object.entries(body).flatMap(([key, value]) =>
    problemsOf(childPath('', key.slice(0, bounds.nameLength)), check(key, value)),
  );
  if (problems.length > 0) return { problems };
  // Every remaining field has passed the test of its type.
  return { value: Object.fromEntries(Object.entries(body).filter(([key]) => isField(key))) };
}

/** Returns a profile as the API shows it. A depth that is not set is absent. */
export function profileOf({ maxDelegationDepth, createdAt, updatedAt, ...agent }: Agent): Record<string, unknown> {
  return {
    ...agent,
    ...(maxDelegationDepth === null ? {} : { maxDelegationDepth }),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
  };
}
