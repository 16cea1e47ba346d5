// Reads the query of effective permissions, and shows the explanation of a call as one cell of the table: what becomes of
// such a call, and which layer says so.
import { isRole, type Layer, parseAgentType, type Role, wildcardPrefix } from '@tollgate/proto/contract';
import type { Explanation, PolicyDocument } from '@tollgate/sidecar/engine/compile';
import type { Checked, Problem } from '@tollgate/proto/shape';
import { parseLimit } from '../../audit/rules/audit-query.ts';
import type { Outcome } from '../../audit/rules/outcome.ts';

export interface EffectiveParameters {
  readonly sub?: string | undefined;
  readonly role?: string | undefined;
  readonly agent?: string | undefined;
  readonly agentType?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: string | undefined;
}

/** Which agent calls. `named`: the name or id of a registered agent. */
export type CallingAgent =
  | { readonly kind: 'named'; readonly nameOrId: string }
  | { readonly kind: 'typed'; readonly client: string; readonly name: string };

export interface EffectiveQuery {
  readonly subject: { readonly sub: string } | { readonly role: Role };
  readonly agent: CallingAgent;
  /** Only tools after this one. */
  readonly after: string | null;
  readonly limit: number;
}

const limitStandard = 100;

export function parseEffectiveQuery({ sub, role, agent, agentType, cursor, limit }: EffectiveParameters): Checked<EffectiveQuery> {
  const problems: Problem[] = [];
  const note = (path: string, message: string): null => {
    problems.push({ path, message });
    return null;
  };
  const subject =
    sub !== undefined && role === undefined
      ? { sub }
      : sub === undefined && role !== undefined
        ? isRole(role)
          ? { role }
          : note('role', 'must be a role')
        : note('sub', 'or role must be given, and not both');
  const caller = callingAgent(agent, agentType) ?? note('agent', 'or agentType (<client>::<tier>::<name>) must be given, and not both');
  const after = cursor === undefined ? null : (parseCursor(cursor) ?? note('cursor', 'must be the `next` of an earlier answer'));
  const size = limit === undefined ? limitStandard : (parseLimit(limit) ?? note('limit', 'must be an integer'));
  if (subject === null || caller === null || size === null || problems.length > 0) return { problems };
  return { value: { subject, agent: caller, after, limit: size } };
}

function callingAgent(agent: string | undefined, agentType: string | undefined): CallingAgent | null {
  if (agent !== undefined) return agentType === undefined ? { kind: 'named', nameOrId: agent } : null;
  const type = parseAgentType(agentType ?? '');
  return type === null ? null : { kind: 'typed', client: type.client, name: type.name };
}

export const cursorOf = (tool: string): string => Buffer.from(`t${tool}`).toString('base64url');

function parseCursor(text: string): string | null {
  const tool = Buffer.from(text, 'base64url').toString('utf8');
  return tool.startsWith('t') && tool.length > 1 ? tool.slice(1) : null;
}

/** The names of single tools that documents and lists of agents contain. */
export const toolsNamedIn = (documents: readonly PolicyDocument[], enabledTools: readonly string[]): readonly string[] =>
  [...documents.flatMap(({ tools = {} }) => Object.keys(tools)), ...enabledTools].filter(
    (name) => name !== '*' && wildcardPrefix(name) === null,
  );

export interface EffectiveCell {
  readonly decision: Explanation['decision'];
  readonly outcome: Outcome;
  readonly rateLimit: number | null;
  readonly transform: Explanation['enforced']['transform'];
  readonly layer: Layer | 'default' | 'agent';
  readonly path: string;
  readonly reason: string;
}

export function cellOf({ decision, enforced, reason }: Explanation): EffectiveCell {
  const { rateLimit, transform } = enforced;
  return { decision, outcome: outcomeOf(decision, enforced, reason), rateLimit, transform, ...placeOf(enforced, reason), reason };
}

/** Where it depends on the input, that of the strictest case. A limit is named before redaction, as it stops calls. */
function outcomeOf(
  decision: Explanation['decision'],
  { permission, rateLimit, transform }: Explanation['enforced'],
  reason: string,
): Outcome {
  const strictest = decision === 'depends' ? permission : decision;
  if (strictest === 'deny') return reason.startsWith('rate_limited:') ? 'limit' : 'deny';
  if (strictest === 'ask') return 'ask';
  if (rateLimit !== null) return 'limit';
  return transform === 'redact' ? 'redact' : 'allow';
}

/** Codes of denials that the calling agent causes, and not a rule. */
const ofAgent: readonly string[] = ['agent_suspended', 'agent_unknown', 'agent_ambiguous', 'agent_tools', 'scope_missing'];

function placeOf({ attributedTo, limits, rateLimit }: Explanation['enforced'], reason: string): Pick<EffectiveCell, 'layer' | 'path'> {
  const code = reason.slice(0, reason.indexOf(':'));
  if (ofAgent.includes(code)) return { layer: 'agent', path: code === 'agent_tools' ? 'enabledTools' : '' };
  if (code === 'workspace_frozen') return { layer: 'workspace', path: '' };
  const limit = code === 'rate_limited' ? limits.find((one) => one.rateLimit === rateLimit) : undefined;
  const { layer, path } = limit ?? attributedTo;
  return { layer, path };
}
