// What a policy document may hold. Every write goes through `checkDocument` after it is merged; what it lets through,
// the compiler and every sidecar can take.
import { bounds, childPath, nameProblem, type Part, parseAgentType, type Rule, tiers } from '@tollgate/proto/contract';

/** By tier; other keys are accepted, returned and inert. */
export type TierRulesDocument = Readonly<Record<string, Rule>>;

/** A policy document as stored and returned: what was sent, merged. */
export interface PolicyDocument {
  readonly mode?: 'enforce' | 'audit' | 'audit-only';
  readonly defaults?: TierRulesDocument;
  readonly tools?: Readonly<Record<string, TierRulesDocument>>;
  /** Only in user documents. */
  readonly agentTypes?: Readonly<Record<string, TierRulesDocument>>;
  /** Only in the workspace document, as are the next two. */
  readonly unknownAgents?: 'allow' | 'deny';
  readonly auditUnavailable?: 'allow' | 'deny';
  readonly outage?: { readonly maxStalenessSeconds?: number; readonly then?: Readonly<Record<string, 'deny' | 'last_known'>> };
}

export type DocumentKind = 'workspace' | 'role' | 'agent-type' | 'user';

export interface Problem {
  readonly path: string;
  readonly message: string;
}

type Check = (value: unknown, path: string) => readonly Problem[];

const problem = (path: string, message: string): readonly Problem[] => [{ path, message }];

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const oneOf =
  (...values: readonly unknown[]): Check =>
  (value, path) =>
    values.includes(value) ? [] : problem(path, `must be ${values.map((one) => JSON.stringify(one)).join(' or ')}`);

const integer =
  (min: number, max: number): Check =>
  (value, path) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max
      ? []
      : problem(path, `must be an integer from ${min} to ${max}`);

/** An object of these fields and no others. */
const fields =
  (checks: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    if (!isObject(value)) return problem(path, 'must be an object');
    return Object.entries(value).flatMap(([key, child]) => {
      const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
      return check === undefined
        ? problem(childPath(path, key), `is not a field here; there are ${Object.keys(checks).join(', ')}`)
        : check(child, childPath(path, key));
    });
  };

/** An object of free keys. */
const entries =
  (checkKey: (key: string) => string | null, check: Check, max: number): Check =>
  (value, path) => {
    if (!isObject(value)) return problem(path, 'must be an object');
    const all = Object.entries(value);
    if (all.length > max) return problem(path, `must have at most ${max} keys, has ${all.length}`);
    return all.flatMap(([key, child]) => {
      const at = `${path}[${JSON.stringify(key)}]`;
      const wrong = checkKey(key);
      return wrong === null ? check(child, childPath(path, key)) : problem(at, wrong);
    });
  };

const rule = (part: Part): Check =>
  fields({
    permission: oneOf('allow', 'deny'),
    rateLimit: integer(0, 2_147_483_647),
    transform: oneOf('log', 'redact'),
    override: (value, path) =>
      part === 'self'
        ? problem(path, 'is for owners and admins; a member cannot make an exception for themselves')
        : oneOf(true)(value, path),
  });

const tierKeysMax = 64;
const tierRules = (part: Part): Check => entries(nameProblem, rule(part), tierKeysMax);

const agentTypeProblem = (key: string): string | null =>
  parseAgentType(key) === null ? `must be <client>::<tier>::<name> with a tier of ${tiers.join(', ')}` : null;

const outage = fields({
  maxStalenessSeconds: (value, path) =>
    value === 0 || integer(3, 31_536_000)(value, path).length === 0 ? [] : problem(path, 'must be 0, or an integer from 3 to 31536000'),
  then: fields(Object.fromEntries(tiers.map((tier) => [tier, oneOf('deny', 'last_known')]))),
});

/** Every problem of a document with its place; none means it may be stored. */
export function checkDocument(kind: DocumentKind, part: Part, value: unknown): readonly Problem[] {
  const ofAll = {
    mode: oneOf('enforce', 'audit', 'audit-only'),
    defaults: tierRules(part),
    tools: entries(nameProblem, tierRules(part), bounds.toolKeysInDocument),
  };
  const ofWorkspace = { unknownAgents: oneOf('allow', 'deny'), auditUnavailable: oneOf('allow', 'deny'), outage };
  const ofUser = { agentTypes: entries(agentTypeProblem, tierRules(part), bounds.toolKeysInDocument) };
  const found = fields({ ...ofAll, ...(kind === 'workspace' ? ofWorkspace : {}), ...(kind === 'user' ? ofUser : {}) })(value, '');
  return found.map(({ path, message }) => ({ path: path === '' ? 'document' : path, message }));
}
