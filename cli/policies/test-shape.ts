// Defines what a file of policy tests may contain, and its JSON Schema.
import {
  bounds,
  conditionBounds,
  nameProblem,
  type Role,
  type RulePermission,
  roles,
  type Tier,
  tiers,
  type Transform,
  uidProblem,
} from '@tollgate/proto/contract';
import {
  described,
  either,
  entries,
  fields,
  integer,
  isObject,
  type JsonSchema,
  list,
  oneOf,
  record,
  type Shape,
  text,
} from '@tollgate/proto/shape';

/** What a test may say of the decision. A field that is absent is not checked. */
export interface Expected {
  readonly decision: RulePermission;
  /** The path or name of a case that must give the permission, the transform or a limit. Null: no case may. */
  readonly case?: string | null;
  readonly transform?: Transform;
  /** A part of the reason. */
  readonly reason?: string;
  /** The paths or names of all cases that must be undecided. */
  readonly undecided?: readonly string[];
  /** All limits that must count the call, in any order. */
  readonly limits?: readonly number[];
}

const hints = ['readOnlyHint', 'destructiveHint', 'openWorldHint', 'idempotentHint'] as const;
export type Annotations = Readonly<Partial<Record<(typeof hints)[number], boolean>>>;

interface TestAgent {
  /** Absent: every tool that the file calls. */
  readonly enabledTools?: readonly string[];
  readonly scopes?: readonly string[];
  /** False: the agent is not registered. */
  readonly registered?: boolean;
}

interface TestTool {
  readonly requiredScopes?: readonly string[];
  readonly annotations?: Annotations;
}

export interface TestWorld {
  readonly members: Readonly<Record<string, Role>>;
  readonly agents: Readonly<Record<string, TestAgent>>;
  readonly toolServers: Readonly<Record<string, Readonly<Record<string, TestTool>>>>;
}

export interface WrittenCall {
  readonly sub?: string;
  readonly role?: Role;
  readonly agent?: string;
  readonly client?: string;
  readonly tier?: Tier;
  readonly tool?: string;
  readonly now?: string;
}

/** A file whose shape was checked. */
export interface WrittenFile {
  readonly policies: readonly string[];
  readonly defaultPermission?: 'allow' | 'deny';
  readonly world?: Partial<TestWorld>;
  readonly defaults?: WrittenCall;
  readonly calls: readonly (WrittenCall & {
    readonly name: string;
    readonly input?: unknown;
    readonly expect: Expected | RulePermission;
  })[];
}

const callsMax = 10_000;
const namesMax = 1_000;
const named: Shape = text(bounds.nameLength, nameProblem);
const names = list(namesMax, named);
const names200 = { schema: { type: 'string', minLength: 1, maxLength: bounds.nameLength }, max: namesMax, inBrackets: true } as const;
const client = text(bounds.nameLength, (name) => nameProblem(name) ?? (name.includes('::') ? 'must not hold "::"' : null));
const words = text(1_000, (value) => (value === '' ? 'must not be empty' : null));
const policyFile = text(1_000, (value) => (value === '' || value === '-' ? 'must be the name of a file or folder' : null));

// A time without a zone would mean another time on another machine.
const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/;
const now = described(
  'the time of the call, RFC 3339. A call whose conditions read `now` must have it',
  text(40, (value) =>
    rfc3339.test(value) && !Number.isNaN(Date.parse(value)) ? null : 'must be a time with its zone, such as 2026-06-01T09:30:00+02:00',
  ),
);
const anything: Shape = { check: () => [], schema: {} };
const decision = oneOf('allow', 'ask', 'deny');
const granted = oneOf('allow', 'deny');
const caseName = text(conditionBounds.nameLength + 2 * bounds.nameLength + 100, (value) => (value === '' ? 'must not be empty' : null));
const nothing: Shape = { check: () => [], schema: { type: 'null' } };

const expectation = record(
  {
    decision,
    case: described(
      'the name or path of a case that gives the permission, the transform or a limit of the call; null: no case does',
      either((value) => (value === null ? nothing : caseName), caseName, nothing),
    ),
    transform: oneOf('log', 'redact'),
    reason: described('a part of the reason that the agent reads', words),
    undecided: described('the names or paths of all cases that are undecided', list(conditionBounds.casesInCall, caseName)),
    limits: described('all limits that count the call, in any order', list(conditionBounds.casesInCall, integer(0, 2_147_483_647))),
  },
  ['decision'],
);
const expected = described(
  'the decision, or the decision and more',
  either((value) => (isObject(value) ? expectation : decision), decision, expectation),
);

const callFields = {
  sub: described('the uid of a member of `world`; not together with `role`', text(128, uidProblem)),
  role: described('the role of a service key that makes the call; default: member', oneOf(...roles)),
  agent: described('an agent of `world`; default: an agent without a name', named),
  client: described('default: tollgate', client),
  tier: described('default: interactive', oneOf(...tiers)),
  tool: named,
  now,
};

const call = record(
  {
    name: described('unique in the file', words),
    ...callFields,
    input: described('what the agent sends; default: {}', anything),
    expect: expected,
  },
  ['name', 'expect'],
);

const agent = fields({
  enabledTools: described('default: every tool that the file calls', names),
  scopes: names,
  registered: described('false: no such agent is registered', oneOf(true, false)),
});
const tool = fields({ requiredScopes: names, annotations: fields(Object.fromEntries(hints.map((hint) => [hint, oneOf(true, false)]))) });

/** The whole file. */
export const testFileShape = record(
  {
    version: described('of this format', oneOf(1)),
    policies: described('files or folders of policies, from the folder of this file', list(namesMax, policyFile)),
    defaultPermission: described('of a call that no rule names, as TOLLGATE_DEFAULT_PERMISSION; default: allow', granted),
    world: fields({
      members: described('the role of each member, by uid', entries({ ...names200, problem: uidProblem }, oneOf(...roles))),
      agents: described('by name', entries({ ...names200, problem: nameProblem }, agent)),
      toolServers: described(
        'the tools of each registered server, by name: the tool `transfer` of the server `payments` is `payments.transfer`',
        entries({ ...names200, problem: nameProblem }, entries({ ...names200, problem: nameProblem }, tool)),
      ),
    }),
    defaults: described('what a call has if it does not say otherwise', fields(callFields)),
    calls: list(callsMax, call),
  },
  ['version', 'policies', 'calls'],
);

/** The schema of a test file. */
export const testFileSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Tests of Tollgate policies',
  ...testFileShape.schema,
};
