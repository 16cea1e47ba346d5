// The route of one call: its entries, its explanation, its approval, its trace and its session.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { shownApproval } from '../../approvals/routes/shown.ts';
import type { AppDeps } from '../../http/deps.ts';
import { addRoute } from '../../http/route.ts';
import {
  approvalRef,
  dateTime,
  entryRef,
  flag,
  integer,
  listOf,
  object,
  orNull,
  shownAs,
  text,
  texts,
  word,
  workspaceAnd,
} from '../../http/shapes.ts';
import { explanation } from '../../policies/routes/explain.ts';
import { showCall } from '../operations/show-call.ts';
import { outcomes } from '../rules/outcome.ts';

const query = Type.Object(
  {
    at: Type.Optional(
      shownAs({
        ...dateTime,
        description: 'the `ts` of an entry of the call: only its day and the days next to it are searched, which is faster',
      }),
    ),
  },
  { additionalProperties: false },
);

const sessionCall = object({ requestId: text, agent: text, chain: texts, tool: text, outcome: word(outcomes), ts: dateTime });

const answers = object({
  requestId: text,
  before: { ...orNull(entryRef), description: 'the entry of the decision, before the tool' },
  after: { ...orNull(entryRef), description: 'the entry of the output; null if there is none, or not yet' },
  more: { ...integer, description: 'further entries of the same request id, normally 0; at most 1,000 are counted' },
  explanation: {
    ...orNull(explanation),
    description:
      'what `explain` says of this call, by the policy documents of the revision at which it was decided, with the recorded input; agents and tool servers as they are today',
  },
  explainedAt: orNull(
    object({
      revision: integer,
      isCurrent: { ...flag, description: 'whether the documents that apply to the call are the same today' },
      isWhole: {
        ...flag,
        description:
          'whether the entry names the caller and every agent above in full; if not, a part is guessed: an agent above has the tier of the calling agent, and its client',
      },
    }),
  ),
  unexplained: { ...orNull(text), description: 'why there is no explanation' },
  approval: { ...orNull(approvalRef), description: 'the approval of the call, if the caller may see it' },
  trace: {
    ...orNull(object({ traceId: text, url: { ...orNull(text), description: 'by `TOLLGATE_TRACE_URL`; null if it is not set' } })),
    description: 'the trace that the call is part of; the caller chose its id',
  },
  session: {
    ...orNull(object({ calls: { ...listOf(sessionCall), maxItems: 50, description: 'oldest first' }, more: flag })),
    description: 'calls of the same session around this one; null if the call has no session',
  },
});

export function addCallRoute(app: FastifyInstance, deps: AppDeps): void {
  const { traceUrl } = deps.config;
  addRoute(app, deps, {
    method: 'GET',
    url: '/:workspace/admin/calls/:requestId',
    id: 'showCall',
    tag: 'Audit',
    summary: 'Reads one call: its entries, why it was decided so, and the calls around it',
    description:
      'If several calls have the request id, the newest is shown, or the one at `at`. The explanation needs what `explain` needs; without it, `unexplained` says what is missing.',
    answers,
    refusals: ['not_found'],
    operation: showCall,
    schema: { params: workspaceAnd('requestId'), querystring: query },
    input: ({ params: { requestId }, query: { at } }) => ({ requestId, at: at ?? null }),
    answer: ({ requestId, before, after, more, explained, approval, traceId, session }) => ({
      requestId,
      before,
      after,
      more,
      ...('explanation' in explained
        ? { explanation: explained.explanation, explainedAt: explained.at, unexplained: null }
        : { explanation: null, explainedAt: null, unexplained: explained.unexplained }),
      approval: approval === null ? null : shownApproval(approval),
      trace: traceId === null ? null : { traceId, url: traceUrl === null ? null : traceUrl.replaceAll('{traceId}', traceId) },
      session,
    }),
  });
}
