// Explains how a call would be decided and why, without making the call.
import { hosts, isTier, layers, nameProblem, parseAgentType, parts, redactionKinds } from '@tollgate/proto/contract';
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Problem } from '@tollgate/proto/shape';
import { badRequest, refuseIfAny } from '../../base/refusal.ts';
import { explainCall } from '../operations/explain-call.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import { integer, inWorkspace, listOf, object, orNull, roleShape, text, texts, tierShape, word } from '../../http/shapes.ts';

const question = Type.Object(
  {
    sub: Type.Optional(Type.String()),
    role: Type.Optional(roleShape),
    agentType: Type.String({ description: '<client>::<tier>::<name>' }),
    tier: tierShape,
    tool: Type.String(),
  },
  { additionalProperties: false },
);

const place = { layer: word([...layers, 'default']), path: text };
const marks = { part: word(parts), override: { const: true } };
const outcome = object({
  permission: word(['allow', 'deny']),
  rateLimit: { ...orNull(integer), description: 'the smallest of `limits`; null: none' },
  limits: listOf(object({ layer: word(layers), path: text, rateLimit: integer }, { part: word(parts) })),
  transform: word(['log', 'redact']),
  attributedTo: object(place, marks),
});
const redaction = object({
  off: { ...listOf(word(redactionKinds)), description: 'kinds that are not looked for' },
  patterns: { ...texts, description: "the workspace's own kinds" },
  allow: { ...integer, description: 'how many values stay as they are' },
  exception: { ...orNull(object({ path: text, kinds: texts })), description: 'kinds that calls of this tool keep' },
});
const explanation = object(
  {
    enforced: outcome,
    shadow: { ...outcome, description: 'as if documents in audit mode were enforced' },
    decision: word(['allow', 'deny']),
    reason: text,
    layers: listOf(
      object(
        {
          layer: word(layers),
          document: text,
          mode: { ...orNull(word(['enforce', 'audit'])), description: 'null: nobody has set it' },
          path: text,
          rule: { type: 'object' },
          fields: listOf(object({ field: text, value: {}, path: text }, { override: { const: true } })),
        },
        { part: word(parts) },
      ),
    ),
    wouldAllow: {
      ...listOf(listOf(object({ layer: word([...layers, 'agent']), document: text, path: text, change: text }, { part: word(parts) }))),
      description: 'ways to an allow, each a list of changes to make together; `agent` is the profile of the calling agent',
    },
  },
  {
    redaction: { ...redaction, description: 'only where what is passed on or stored of the call is redacted' },
    toolNames: {
      ...listOf(object({ host: word(hosts), name: text, path: text })),
      description: 'what coding agents call the tool, only where the workspace names it otherwise than they do',
    },
  },
);

export function addExplainRoute(app: FastifyInstance, deps: AppDeps): void {
  addRoute(app, deps, {
    method: 'POST',
    url: '/:workspace/admin/explain',
    id: 'explainCall',
    tag: 'Policies',
    summary: 'Says what would be decided of a call, and why',
    description: `Of a member or service key (\`sub\`) or of a role alone; a member may ask about themselves and about roles. A direct call of an agent
of that type, which has used nothing of its limits and caps. \`layers\` are all that can speak for the caller, broad to specific; \`enforced\`
and \`shadow\` are the two folds, as they are also where the workspace is frozen or the agent may not call the tool: then \`decision\` and
\`reason\` say so.`,
    answers: explanation,
    operation: explainCall,
    schema: { params: inWorkspace, body: question },
    input: ({ body }) => {
      const { sub, role, agentType, tier, tool } = body;
      if ((sub === undefined) === (role === undefined)) throw badRequest('give either sub or role');
      refuseIfAny([...agentTypeProblems(agentType, tier), ...problemsAt('tool', nameProblem(tool))]);
      return { agentType, tier, tool, ...(sub === undefined ? {} : { sub }), ...(role === undefined ? {} : { role }) };
    },
    answer: (explanation) => explanation,
  });
}

const problemsAt = (path: string, message: string | null): readonly Problem[] => (message === null ? [] : [{ path, message }]);

function agentTypeProblems(agentType: string, tier: string): readonly Problem[] {
  const parsed = parseAgentType(agentType);
  if (parsed === null) return [{ path: 'agentType', message: 'must be <client>::<tier>::<name>' }];
  return problemsAt('agentType', isTier(tier) && parsed.tier !== tier ? 'must name the same tier as tier' : null);
}
