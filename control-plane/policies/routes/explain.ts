// Explains how a call would be decided and why, without making the call.
import {
  bounds,
  hosts,
  isTier,
  layers,
  nameProblem,
  parseAgentType,
  parts,
  redactionKinds,
  rulePermissions,
  tiers,
} from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { undecidedReasons } from '@tollgate/sidecar/engine/compile';
import type { Problem } from '@tollgate/proto/shape';
import { badRequest, refuseIfAny } from '../../base/refusal.ts';
import { explainCall } from '../operations/explain-call.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import { integer, inWorkspace, listOf, object, orNull, remedies, roleShape, text, texts, tierShape, word } from '../../http/shapes.ts';
import { addEffectiveRoute } from './effective.ts';

const question = Type.Object(
  {
    sub: Type.Optional(Type.String()),
    role: Type.Optional(roleShape),
    agentType: Type.String({ description: '<client>::<tier>::<name>' }),
    tier: tierShape,
    above: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: bounds.delegationDepth,
        description: 'the agents above in the chain, root first, each as <client>::<tier>::<name>; absent: a direct call',
      }),
    ),
    tool: Type.String(),
    input: Type.Optional(Type.Unknown({ description: 'the input of the call, which cases read; absent: every case may hold' })),
  },
  { additionalProperties: false },
);

const place = { layer: word([...layers, 'default']), path: text };
const marks = { part: word(parts), override: { const: true } };
const permission = word(rulePermissions);
const outcome = object({
  permission,
  rateLimit: { ...orNull(integer), description: 'the smallest of `limits`; null: none' },
  limits: listOf(object({ layer: word(layers), path: text, rateLimit: integer }, { part: word(parts) })),
  transform: word(['log', 'redact']),
  attributedTo: object(place, marks),
});
const redaction = object({
  off: { ...listOf(word(redactionKinds)), description: 'kinds that are not detected' },
  patterns: { ...texts, description: "the workspace's own kinds" },
  allow: { ...integer, description: 'number of values that are not redacted' },
  exception: { ...orNull(object({ path: text, kinds: texts })), description: 'kinds that are not redacted in calls of this tool' },
});
const terms = {
  approvers: {
    ...texts,
    description: '`role:<role>` (this role or above), `user:<uid>`, or `subject`, the person that the call is made for',
  },
  need: integer,
  waitSeconds: integer,
  pendingSeconds: integer,
  validSeconds: integer,
  uses: integer,
};
const choices = { self: { const: true }, independent: { const: true }, via: word(['session']), reason: text, channels: texts };
const compiledAsk = object(terms, choices);
const explainedAsk = object(
  {
    layer: word(layers),
    document: text,
    path: text,
    ...terms,
    mayAnswer: { ...texts, description: 'members who may answer, at most 20' },
    mayAnswerCount: integer,
  },
  { part: word(parts), ...choices },
);
const explainedCase = object(
  {
    path: text,
    result: { ...word(['holds', 'does not hold', 'undecided', 'depends']), description: '`depends`: no `input` was given' },
    sets: {
      ...object({}, { permission, ask: compiledAsk, rateLimit: integer, transform: word(['log', 'redact']), reason: text }),
      description: 'the fields of the rule that the case replaces; `rateLimit` counts in addition',
    },
  },
  {
    reason: { ...word(undecidedReasons), description: 'why it is undecided' },
    at: { ...text, description: 'the part of the condition that could not be evaluated' },
    when: { ...text, description: 'the condition, at most 500 characters of it' },
  },
);
const layer = object(
  {
    layer: word(layers),
    document: text,
    mode: {
      ...orNull(word(['enforce', 'audit', 'audit-only'])),
      description:
        'as the document says it, which is `audit` or `audit-only` for the same; `enforce` if it says nothing; null: there is no document',
    },
    path: text,
    rule: { type: 'object' },
    fields: listOf(object({ field: text, value: {}, path: text }, { override: { const: true } })),
  },
  { part: word(parts), cases: { ...listOf(explainedCase), description: 'the cases of the rules that match the call' } },
);
const agentAbove = object(
  {
    agentType: text,
    tier: word(tiers),
    enforced: { ...outcome, description: 'what the documents that apply to this agent say' },
    shadow: outcome,
    layers: { ...listOf(layer), description: 'the documents that apply to this agent, broad to specific' },
  },
  {
    decides: {
      const: true,
      description: 'a rule of this agent decides; if one decides and no agent above has the mark, it is of the calling agent',
    },
  },
);
/** Why a call is decided as it is. */
export const explanation = object(
  {
    enforced: outcome,
    shadow: { ...outcome, description: 'as if documents in audit mode were enforced' },
    decision: {
      ...word(['allow', 'ask', 'deny', 'depends']),
      description: '`ask`: a person decides; `depends`: cases decide, and no `input` was given',
    },
    reason: text,
    layers: { ...listOf(layer), description: 'the documents that apply to the calling agent, broad to specific' },
    wouldAllow: {
      ...listOf(listOf(object({ layer: word([...layers, 'agent']), document: text, path: text, change: text }, { part: word(parts) }))),
      description:
        'ways to allow the call without a question, each a list of changes of the policy to make together; `agent` is the profile of an agent of the chain; empty if the call is allowed, or if no change allows such a chain',
    },
    remedies,
  },
  {
    above: { ...listOf(agentAbove), description: 'the agents above in the chain, root first; absent for a direct call' },
    asks: {
      ...listOf(explainedAsk),
      description: 'every rule or case that asks a person about the call, or may ask; all of them must be approved',
    },
    redaction: { ...redaction, description: 'only if the call is redacted before it is forwarded or stored' },
    toolNames: {
      ...listOf(object({ host: word(hosts), name: text, path: text })),
      description: 'names that coding agents use for the tool, only if the workspace uses another name',
    },
  },
);

export function addExplainRoute(app: FastifyInstance, deps: AppDeps): void {
  addEffectiveRoute(app, deps);
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/explain',
    id: 'explainCall',
    tag: 'Policies',
    summary: 'Explains how a call would be decided',
    description: `Of a member or service key (\`sub\`) or of a role alone; a member may ask about themselves and about roles. A call of an agent of
that type, direct or through the agents in \`above\`, which has used nothing of its limits and caps and was given all that the agents above may do.
\`enforced\` and \`shadow\` are the results of the documents of all agents of the chain alone, the strictest of them. Cases are evaluated for \`input\`, an undecided one as at a call: the strictest of what its
rule may say. \`wouldAllow\` are changes of the policy, \`remedies\` other calls. If the workspace is frozen or the agent may not call the tool,
only \`decision\` and \`reason\` say so.`,
    answers: explanation,
    operation: explainCall,
    schema: { params: inWorkspace, body: question },
    input: ({ body }) => {
      const { sub, role, agentType, tier, above, tool, input } = body;
      if ((sub === undefined) === (role === undefined)) throw badRequest('give either sub or role');
      const agentsAbove = (above ?? []).map((one) => ({ agentType: one, tier: parseAgentType(one)?.tier ?? null }));
      refuseIfAny([
        ...agentTypeProblems(agentType, tier),
        ...agentsAbove.flatMap((one, at) => problemsAt(`above[${at}]`, one.tier === null ? agentTypeWords : null)),
        ...problemsAt('tool', nameProblem(tool)),
      ]);
      return {
        agentType,
        tier,
        tool,
        ...(agentsAbove.length === 0
          ? {}
          : { above: agentsAbove.flatMap((one) => (one.tier === null ? [] : [{ agentType: one.agentType, tier: one.tier }])) }),
        ...(sub === undefined ? {} : { sub }),
        ...(role === undefined ? {} : { role }),
        ...(input === undefined ? {} : { input }),
      };
    },
    answer: (explanation) => explanation,
  });
}

const problemsAt = (path: string, message: string | null): readonly Problem[] => (message === null ? [] : [{ path, message }]);

const agentTypeWords = 'must be <client>::<tier>::<name>';

function agentTypeProblems(agentType: string, tier: string): readonly Problem[] {
  const parsed = parseAgentType(agentType);
  if (parsed === null) return [{ path: 'agentType', message: agentTypeWords }];
  return problemsAt('agentType', isTier(tier) && parsed.tier !== tier ? 'must name the same tier as tier' : null);
}
