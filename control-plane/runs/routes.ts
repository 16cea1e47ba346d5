// Routes of agent runs: start (with one result or a stream of events), list, read and cancel.
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { parseRunCursor, shownRun, shownSummary } from './rules/run.ts';
import { runAskSchema } from './rules/run-ask.ts';
import { refusalOf } from '../base/errors.ts';
import { cancelRun } from './operations/cancel-run.ts';
import { listRuns } from './operations/list-runs.ts';
import { readRun } from './operations/read-run.ts';
import type { RunAnswer } from './operations/start-run.ts';
import type { StreamDeps } from '../http/deps.ts';
import { limitOf, positionOf } from '../http/page-limit.ts';
import { logRefusal } from '../http/refuse.ts';
import { addRoute, asked, joined, ok } from '../http/route.ts';
import {
  anyObject,
  listOf,
  okAnd,
  pageQuery,
  runEventRef,
  runRef,
  runResultRef,
  runSummaryRef,
  runWaitsRef,
  text,
} from '../http/shapes.ts';
import { departureOf, sendStream } from '../http/stream-route.ts';

const params = Type.Object({ id: Type.String() });
const one = '/api/v1/runs/:id';
/** This header is set on every answer for a run that has begun, also before the first event and when the run failed. */
const runIdHeader = 'X-Tollgate-Run-Id';
const stream = {
  mediaType: 'text/event-stream',
  text: 'first the comment `: run <id>`, then RunEvents: `event`, `id` and one line of JSON in `data`; comments in between keep it alive; `done` or `error` is the last event',
  event: runEventRef,
} as const;

export function addRunRoutes(app: FastifyInstance, deps: StreamDeps): void {
  addRunRoute(app, deps);
  addRoute(app, deps, {
    method: 'GET',
    url: '/api/v1/agents/:id/runs',
    id: 'listRuns',
    tag: 'Runs',
    summary: 'Lists the runs of an agent, newest first',
    description: `Those of the caller; all of them for an owner or admin, and for a key that names the scope admin.audit.read. \`next\` is absent on the last page.`,
    answers: okAnd({ runs: listOf(runSummaryRef) }, { next: text }),
    refusals: ['not_found'],
    operation: listRuns,
    schema: { params, querystring: pageQuery },
    input: ({ params: { id }, query }) => ({
      agentId: id,
      limit: limitOf(query.limit ?? '200'),
      before: positionOf(query.cursor, parseRunCursor),
    }),
    answer: ({ runs, ...rest }) => ok({ runs: runs.map(shownSummary), ...rest }),
  });
  addRoute(app, deps, {
    method: 'GET',
    url: one,
    id: 'readRun',
    tag: 'Runs',
    summary: 'Reads a run, with its transcript',
    description:
      'A caller can read its own runs. Owners, admins, and keys with the explicit scope admin.audit.read can read all runs. The transcript has at most its first 1 MiB. For an active run, and for one whose control plane ended unexpectedly, the transcript and the counts are as of its last round, and the cost is that of its model calls so far.',
    answers: okAnd({ run: runRef }),
    refusals: ['not_found'],
    operation: readRun,
    schema: { params },
    input: (from) => from.params.id,
    answer: (run) => ok({ run: shownRun(run) }),
  });
  addRoute(app, deps, {
    method: 'POST',
    url: `${one}/cancel`,
    id: 'cancelRun',
    tag: 'Runs',
    summary: 'Requests the end of a run',
    description:
      'A caller can cancel its own runs. Owners and admins can cancel all runs. The run ends within a second or two, on any control plane, and so do the runs that it started. A run that has ended does not change.',
    answers: okAnd({ run: runSummaryRef }),
    refusals: ['not_found'],
    operation: cancelRun,
    schema: { params },
    input: (from) => from.params.id,
    answer: (run) => ok({ run: shownSummary(run) }),
  });
}

function addRunRoute(app: FastifyInstance, deps: StreamDeps): void {
  const { startRun: operation, inTrace } = deps;
  const route = {
    method: 'POST',
    url: '/api/v1/agents/:id/run',
    id: 'runAgent',
    tag: 'Runs',
    summary: 'Runs an agent: its result, or with `stream` its events as they happen',
    description: `The events of a stream are RunEvents: \`text\`, \`tool_calls\`, \`governance\` (one for each call, before its result), \`tool_result\`,
\`approval_required\` when the run waits for a person and \`approval_decided\` when a call that waited continues, and at last \`done\` with the
result or \`error\`. X-Tollgate-Run-Id names the run, also before its first event and if it fails. If a cap halts a run, the answer has the result so far. If a run waits for a person, the answer is 202 without \`stream\`; from then on a client that disconnects does not cancel it. Otherwise a run is cancelled if its client disconnects, the workspace is frozen, the agent is suspended or the key is revoked. 400 also for a model that is not recognised or that
no provider serves here, 403 for an agent that is suspended and while the workspace is frozen, 429 if the daily cap of the user is reached (\`Retry-After\`: until midnight UTC; free models still run) or if the workspace has
too many active runs;
502 if the model's provider fails: the run is kept as \`failed\`.`,
    answers: runResultRef,
    answersAlso: stream,
    answersLater: runWaitsRef,
    headers: { [runIdHeader]: { type: 'string', description: 'the id of the run, once it has begun' } },
    refusals: ['not_found', 'rate_limited', 'upstream_failed'],
    shownBody: runAskSchema,
    operation,
    schema: { params, body: anyObject },
    input: (from: { readonly params: { readonly id: string }; readonly body: unknown }) => ({ agentId: from.params.id, body: from.body }),
  } as const;
  const { actorOf, ...options } = joined(deps, route);
  app.route({
    method: route.method,
    url: route.url,
    ...options,
    handler: async (request, reply) => {
      const actor = actorOf(request);
      const signal = departureOf(reply);
      const input = route.input(asked<typeof route.schema>(request));
      const answer = await inTrace(request.headers, () => operation(deps, actor, input, { signal }));
      void reply.header(runIdHeader, answer.id);
      if (answer.kind === 'result') {
        const result = await answer.result;
        return result.status === 'waiting' ? reply.code(202).header('Location', `/api/v1/runs/${result.id}`).send(result) : result;
      }
      // The client receives the failure as an event. The operator sees it in the log.
      answer.ended.catch((error: unknown) => logRefusal(request, refusalOf(error)));
      return sendStream(
        deps,
        { request, reply, actor },
        { items: framed(answer), frame: (text) => text, mediaType: stream.mediaType, signal },
      );
    },
  });
}

// In a stream of events, these characters do not end a line. But some clients would end a line at them, so they are
// escaped.
const awkward = /[\u007f-\u009f\u2028\u2029]/g;
const escaped = (one: string): string => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Numbers the events from 1. No event can contain a line break, because JSON escapes it. The stream begins with a
 * comment, so that the client receives something immediately.
 */
async function* framed({ id, events }: Extract<RunAnswer, { kind: 'stream' }>): AsyncGenerator<string> {
  yield `: run ${id}\n\n`;
  let told = 0;
  for await (const event of events) {
    if (event === null) {
      yield ': alive\n\n';
    } else {
      told += 1;
      yield `event: ${event.kind}\nid: ${told}\ndata: ${JSON.stringify(event.data).replaceAll(awkward, escaped)}\n\n`;
    }
  }
}
