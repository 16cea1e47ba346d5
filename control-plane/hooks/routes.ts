// Routes for hooks. Hook clients call them before and after a tool call, with a key of scope `govern`. A sidecar
// process serves the same protocol; the code of the sidecar documents what each answer means.
import { approvalStates, bounds, reasons, tiers } from '@tollgate/proto/contract';
import { centsMax, type HookRoutes, listMax, registerHooks, waitMsMax } from '@tollgate/sidecar/hooks';
import type { FastifyInstance, FastifySchema } from 'fastify';
import { isObject, type JsonSchema } from '@tollgate/proto/shape';
import Type from 'typebox';
import { httpStatus, refusalOf } from '../base/errors.ts';
import type { AppDeps } from '../http/deps.ts';
import { describe } from '../http/describe.ts';
import { flag, integer, inWorkspace as inWorkspacePath, listOf, object, orNull, remedies, text, texts, word } from '../http/shapes.ts';

type Hook = Parameters<NonNullable<HookRoutes['schemaOf']>>[0];

export function addHookRoutes(app: FastifyInstance, { hooks, config }: Pick<AppDeps, 'hooks' | 'config'>): void {
  registerHooks(app, hooks, {
    status: config.hookStatus,
    publicError: (error) => {
      const { code, publicMessage } = refusalOf(error);
      return { status: httpStatus(code), message: publicMessage };
    },
    schemaOf,
    approvalSchemaOf,
  });
}

const anything: JsonSchema = {};
const name: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: bounds.nameLength,
  description: 'without control, format or unpaired surrogate characters, and without a blank at an end',
};
const names: JsonSchema = listOf(name);
const findings = object({ pii: object({ types: texts, count: integer }) });
const kind = word([...new Set(Object.values(reasons).flatMap((one) => one ?? []))]);

const cents: JsonSchema = { type: 'number', minimum: 0, maximum: centsMax };

/** A client may send null for a field that it has no value for. It means the same as an absent field. */
const optional = (schema: JsonSchema, description: string): JsonSchema => ({ ...orNull(schema), description });
/** For a name it may also send an empty text. */
const optionalName = (description: string): JsonSchema => optional({ type: 'string', maxLength: bounds.nameLength }, description);

const caller: Readonly<Record<string, JsonSchema>> = {
  agent_name: optionalName('the name of the calling agent; absent: it has none'),
  agent_tier: optional(
    word(tiers),
    'absent: background for `permission_mode` bypassPermissions or `ci` true, subagent with `agent_id`, else interactive',
  ),
  agent_chain: optional({ ...names, maxItems: listMax.chain }, 'root to caller'),
  delegated_tools: optional({ ...names, maxItems: listMax.delegatedTools }, 'the only tools that were delegated with the task'),
  client: optional(
    object({ name }, { version: orNull(name) }),
    'the program that calls; absent: that of the header `X-GS-Client`, else `hook`',
  ),
  permission_mode: anything,
  ci: anything,
  agent_id: anything,
  impersonate_uid: optional(name, 'needs the scope `govern.impersonate`'),
};

const asks: Readonly<Record<string, JsonSchema>> = {
  session_id: optionalName('calls of one session are one run; absent: the key is the session'),
  call_id: optionalName('joins the two requests; absent: tool and input do'),
  tool_input: anything,
  ...caller,
  accepts: optional({ ...names, maxItems: listMax.accepts }, '`modified_input`: the client can replace the input'),
};

const waits: Readonly<Record<string, JsonSchema>> = {
  wait_ms: optional(
    { type: 'integer', minimum: 0, maximum: waitMsMax },
    'how long the client waits if policy asks a person for the call; absent: it is answered at once, `approval_pending`',
  ),
};

const bodies: Readonly<Record<Hook, JsonSchema>> = {
  'tool-use': object({ tool_name: name }, { ...asks, ...waits }),
  'tool-output': object(
    { tool_name: name, tool_output: { description: `redacted up to ${bounds.toolOutputBytes} bytes of JSON, withheld beyond` } },
    { ...asks, is_error: orNull(flag), model_usage: anything },
  ),
  cost: object(
    {
      action: word(['reserve', 'settle']),
      cost_id: { ...name, description: 'the client chooses it, one for each cost of the run; a request that is sent again counts once' },
      cents: { ...cents, description: 'reserve: the most that may be spent; settle: what was spent' },
      session_id: { ...name, description: 'the run whose budget it is, with the agent and its chain' },
    },
    { ...caller, least_cents: optional(cents, 'reserve what is left, if it is at least this; absent: all or nothing') },
  ),
};

const answers: Readonly<Record<Hook, JsonSchema>> = {
  'tool-use': object(
    { decision: word(['allow', 'deny']), reason: text },
    {
      request_id: { ...text, description: 'id of its audit entry; absent if one entry covers many requests' },
      kind,
      retryAfterMs: integer,
      remedies,
      approval_id: { ...text, description: 'the approval that the call waits for, or that a person denied' },
      waitMs: { ...integer, description: 'with `approval_pending`: how long the rule lets a caller wait for a person' },
      modified_input: anything,
      findings,
    },
  ),
  'tool-output': object(
    { action: word(['pass', 'redact', 'block']) },
    { modified_output: anything, tool_output: { description: 'as `modified_output`' }, reason: text, retryAfterMs: integer, findings },
  ),
  cost: object(
    { decision: word(['allow', 'deny']), reason: text },
    {
      cents: { ...cents, description: 'what was reserved or counted' },
      kind,
      retryAfterMs: integer,
      stopped: { ...word(['max_budget']), description: 'the budget is spent; absent: other costs only hold it' },
    },
  ),
};

const refusals: Readonly<Record<Hook, JsonSchema>> = {
  'tool-use': object({ error: text, decision: word(['deny']), reason: text, kind }, { retryAfterMs: integer }),
  'tool-output': object({ error: text, action: word(['block']), reason: text }, { retryAfterMs: integer }),
  cost: object({ error: text, decision: word(['deny']), reason: text, kind }, { retryAfterMs: integer }),
};

const words = {
  'tool-use': {
    id: 'governToolUse',
    summary: 'Decides a tool call before it is made',
    description:
      'With a valid key every answer is 200 with a decision, also for a body that cannot be read or is too large (`call_malformed`, `input_too_large`), and for more requests than a key may send (`request_limit`). 401 and 403 mean a problem with the key, 5xx an outage; they contain a decision too. `kind` retry: the same call may pass later, after `retryAfterMs`. The header `X-GS-Client: name/version` names the client; a bare `Authorization: gsk_…` is also accepted.',
  },
  'tool-output': {
    id: 'governToolOutput',
    summary: 'Decides which part of the output of a tool call may reach the model',
    description: '`redact`: use `modified_output`; `block`: no part of it may reach the model. Statuses are the same as before the call.',
  },
  cost: {
    id: 'governCost',
    summary: 'Reserves or settles a part of the budget of a run',
    description:
      '`reserve` before money is spent, `settle` afterwards. Nothing may be spent without `allow`. Statuses are those of a tool call. No entry is written.',
  },
} as const;

const approvalPath = Type.Object({ id: Type.String({ minLength: 1 }) });
const approvalInWorkspace = Type.Object({ ...inWorkspacePath.properties, ...approvalPath.properties });

/** Returns the description of the route that tells what has become of an approval. */
function approvalSchemaOf(inWorkspace: boolean): FastifySchema {
  const route = {
    id: inWorkspace ? 'governApprovalInWorkspace' : 'governApproval',
    tag: 'Hooks',
    summary: 'Tells what has become of an approval',
    description: 'Only the key that asked for the approval may read it. It changes nothing: the same call asked again meets the answer.',
    refusals: ['not_found'],
    method: 'GET',
    answers: object(
      { approval_id: text, state: word(approvalStates) },
      {
        answered_at: text,
        note: { ...text, description: 'what the person who answered wrote' },
        remainingMs: { ...integer, description: 'how long it may still be answered (pending) or used (approved)' },
      },
    ),
  } as const;
  return describe(route, { params: inWorkspace ? approvalInWorkspace : approvalPath }, [{ key: [] }]);
}

/** Returns a schema for the document only. The code that decides the call validates the request. */
function schemaOf(hook: Hook, inWorkspace: boolean): FastifySchema {
  const { id, summary, description } = words[hook];
  const route = {
    id: inWorkspace ? `${id}InWorkspace` : id,
    tag: 'Hooks',
    summary,
    description,
    method: 'POST',
    answers: answers[hook],
    shownBody: bodies[hook],
  } as const;
  const schema = describe(route, inWorkspace ? { params: inWorkspacePath } : {}, [{ key: [] }]);
  return { ...schema, response: denying(schema.response, refusals[hook]) };
}

/**
 * The statuses for malformed and for too many requests. Hook routes do not answer with them, because such a request gets
 * a decision with status 200.
 */
const decided = ['400', '413', '415', '429'];

/** Adds the decision to the schema of every error answer. */
function denying(response: unknown, body: JsonSchema): object {
  const answersBy = Object.entries(isObject(response) ? response : {}).filter(([status]) => !decided.includes(status));
  return Object.fromEntries(
    answersBy.map(([status, said]) => [
      status,
      status === '200' || !isObject(said) ? said : { ...said, content: { 'application/json': { schema: body } } },
    ]),
  );
}
