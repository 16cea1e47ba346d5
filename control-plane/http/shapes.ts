// Schemas that several resources share, and the named schemas of the API document. For Fastify, the bodies of agents
// and policies are plain objects; `rules` validates their content and reports every problem with its place.
import { approvalStates, bounds, layers, parts, roles, rulePermissions, scopes, tiers, toolHintNames } from '@tollgate/proto/contract';
import { agentTypeKeySchema, caseSchema, type DocumentKind, documentSchema } from '@tollgate/sidecar/engine/compile';
import Type from 'typebox';
import { agentSchemas } from '../agents/rules/agent.ts';
import { runStatuses } from '../runs/rules/run.ts';
import { isObject, type JsonSchema } from '@tollgate/proto/shape';
import { stopReasons } from '../runs/operations/start-run.ts';

/** Returns a schema that accepts one of these strings. */
export const oneOf = <const T extends string>(values: readonly T[]) => Type.Unsafe<T>({ type: 'string', enum: [...values] });

export const roleShape = oneOf(roles);
export const tierShape = oneOf(tiers);
export const anyObject = Type.Object({}, { additionalProperties: true });

/** The keyword with which a schema names another schema that the document shows instead. Validation ignores it. */
export const shownKeyword = 'shown';

/** Returns the schema of a text in a path or query string that our code parses. The document shows `schema` for it. */
export const shownAs = (schema: JsonSchema) => Type.String({ [shownKeyword]: schema });

/**
 * Returns the schema of a number of items. It has no minimum and no maximum, because a number outside of `range` is
 * taken for the nearest bound and not refused.
 */
export const clamped = (standard: number | null, range: string, more = '') =>
  shownAs({
    type: 'integer',
    ...(standard === null ? {} : { default: standard }),
    description: `${range}; a number outside of this range is clamped: it means the nearest bound${more}`,
  });

export const pageRange = '1 to 1,000';
export const pageLimit = clamped(200, pageRange);
export const pageCursor = Type.String({ description: '`next` of the previous page' });
/** The query of a list that has no other parameters. */
export const pageQuery = Type.Object(
  { limit: Type.Optional(pageLimit), cursor: Type.Optional(pageCursor) },
  { additionalProperties: false },
);

/** The query of a list that is whole without `limit`. */
export const wholeOrPageQuery = Type.Object(
  { limit: Type.Optional(clamped(null, pageRange, '; absent: the whole list')), cursor: Type.Optional(pageCursor) },
  { additionalProperties: false },
);
/** What the description of such a list says. */
export const wholeOrPage = 'Without `limit` the whole list is on one page. `next` is absent on the last page.';

const path = { workspace: Type.String({ description: 'the slug in the key' }) };
export const inWorkspace = Type.Object(path);

/** The query of policy writes. */
export const forceQuery = Type.Object(
  {
    force: Type.Optional(
      Type.Unsafe<'true' | 'false'>({
        type: 'string',
        enum: ['true', 'false'],
        description:
          'true: write also rules that connected sidecars of an older version do not understand; those sidecars deny the calls of such rules',
      }),
    ),
  },
  { additionalProperties: false },
);
export const workspaceAnd = <const K extends string>(name: K, shown?: JsonSchema) =>
  Type.Unsafe<{ readonly workspace: string } & { readonly [P in K]: string }>(
    Type.Object({ ...path, [name]: shown === undefined ? Type.String() : shownAs(shown) }),
  );

// Schemas of answers.

export const text: JsonSchema = { type: 'string' };
export const integer: JsonSchema = { type: 'integer' };
export const flag: JsonSchema = { type: 'boolean' };
export const dateTime: JsonSchema = { type: 'string', format: 'date-time' };
export const texts: JsonSchema = { type: 'array', items: text };
export const word = (words: readonly string[]): JsonSchema => ({ type: 'string', enum: [...words] });
export const orNull = (schema: JsonSchema): JsonSchema => ({ anyOf: [schema, { type: 'null' }] });
export const listOf = (items: JsonSchema): JsonSchema => ({ type: 'array', items });
export const mapOf = (values: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties: values });

/** Returns the schema of an object. Every key of `properties` is required; the keys of `optional` are not. */
export const object = (
  properties: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties),
  properties: { ...properties, ...optional },
});

/** The key of an agent type, as a part of a path. */
export const agentTypeKeyShape: JsonSchema = {
  ...agentTypeKeySchema,
  description: `${String(agentTypeKeySchema['description'])}; percent-encoded in the path`,
};
/** Returns the schema of an object whose keys are agent-type keys. */
const byAgentType = (values: JsonSchema): JsonSchema => ({
  ...mapOf(values),
  propertyNames: agentTypeKeySchema,
  description: 'by agent-type key',
});
/** The same for a page of them. No agent-type key is `next`. */
export const pageByAgentType = (values: JsonSchema): JsonSchema => ({
  ...byAgentType(values),
  propertyNames: { anyOf: [agentTypeKeySchema, { const: 'next' }] },
  properties: { next: { ...text, description: 'the cursor of the next page' } },
});

const place = { layer: word(layers), path: text };
const placePart = { part: word(parts) };
/** Something that would be allowed in place of a denied call. */
export const remedies: JsonSchema = {
  ...listOf(
    object(
      { kind: word(['approval', 'case', 'no_case', 'input']), ...place },
      {
        ...placePart,
        rateLimit: { ...integer, description: 'the smallest limit that such a call counts in' },
        asks: { const: true, description: 'a person must approve such a call' },
        and: listOf(object(place, placePart)),
        reason: text,
        at: text,
      },
    ),
  ),
  description:
    'what would be allowed instead, at most 5. `approval`: this call, if a person approves what the rule or case at `path` asks; `case`: a call of the case at `path`; `no_case`: a call of none of the cases of the rule at `path`, nor of those in `and`; `input`: this call, if `at` could be evaluated and the case at `path` did not hold',
};

const revision: JsonSchema = { ...integer, description: "the workspace's revision that this write made" };

/** Returns the schema of `{ok: true, …}`. */
export const okAnd = (
  properties: Readonly<Record<string, JsonSchema>> = {},
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => object({ ok: { const: true }, ...properties }, optional);

/** Returns the schema of `{ok: true, revision, …}`, which is the answer to a write. */
export const written = (
  properties: Readonly<Record<string, JsonSchema>> = {},
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema => okAnd({ revision, ...properties }, optional);

const named = ($id: string, schema: JsonSchema): { readonly $id: string } & JsonSchema => ({ $id, ...schema });
const refOf = ({ $id }: { readonly $id: string }): JsonSchema => ({ $ref: `${$id}#` });

/** Returns the schema of a merge patch for a document: `null` removes a value at any depth. */
function patchOf({ properties, additionalProperties, ...schema }: JsonSchema): JsonSchema {
  return {
    ...schema,
    ...(isObject(properties) ? { properties: mapValues(properties, removable) } : {}),
    ...(isObject(additionalProperties) ? { additionalProperties: removable(additionalProperties) } : { additionalProperties: false }),
  };
}

const removable = (schema: unknown): JsonSchema => orNull(isObject(schema) ? (schema['type'] === 'object' ? patchOf(schema) : schema) : {});

const mapValues = (of: JsonSchema, change: (value: unknown) => JsonSchema): JsonSchema =>
  Object.fromEntries(Object.entries(of).map(([key, value]) => [key, change(value)]));

const error = named(
  'Error',
  object(
    { error: { ...text, description: 'for people; branch on the status' } },
    { details: { ...texts, description: 'each problem by itself' } },
  ),
);
const agent = named('Agent', agentSchemas.profile);
const policyCase = named('PolicyCase', caseSchema);

/** Returns the schema of a document, in which cases are a component, because they are in it many times. */
function documentOf(kind: DocumentKind): JsonSchema {
  const shared = (schema: unknown): unknown => {
    if (schema === caseSchema) return refOf(policyCase);
    if (Array.isArray(schema)) return schema.map(shared);
    return isObject(schema) ? Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, shared(value)])) : schema;
  };
  return Object.fromEntries(Object.entries(documentSchema(kind)).map(([key, value]) => [key, shared(value)]));
}

const workspacePolicy = named('WorkspacePolicy', documentOf('workspace'));
const policy = named('Policy', documentOf('role'));
const userPolicy = named('UserPolicy', documentOf('user'));
const workspacePolicyPatch = named('WorkspacePolicyPatch', patchOf(documentOf('workspace')));
const policyPatch = named('PolicyPatch', patchOf(documentOf('role')));
const userPolicyPatch = named('UserPolicyPatch', patchOf(documentOf('user')));
const rule = named(
  'Rule',
  object(
    {},
    {
      permission: word(['allow', 'deny']),
      rateLimit: integer,
      transform: word(['log', 'redact']),
      override: { const: true },
      cases: listOf(refOf(policyCase)),
    },
  ),
);
const shownUserPolicy = named('ShownUserPolicy', {
  description: 'At each place that either part names, the stricter of both parts; and both parts as they were written.',
  type: 'object',
  properties: {
    ...(documentOf('user')['properties'] as object),
    parts: object({}, { organisation: refOf(userPolicy), self: refOf(userPolicy) }),
  },
});
const override = named('LooseningOverride', {
  ...object({ document: text, path: text, rule: refOf(rule) }),
  description: 'An explicit exception that still loosens a rule that was tightened.',
});
const conditionWarning = named('ConditionWarning', {
  ...object({ document: text, path: text, message: text }),
  description:
    'A case that is valid but may not be what its writer meant: it reads an input that the tool does not have, or it loosens its rule by a claim.',
});
const passedCases = named('PassedCases', {
  ...object({
    document: text,
    path: { ...text, description: 'the rule that has the cases' },
    cases: { ...texts, description: 'their names' },
    by: { ...text, description: 'the rule of the same document that is looked up first' },
    fields: { ...listOf(word(['permission', 'rateLimit', 'transform'])), description: 'what that rule sets, and the cases too' },
  }),
  description:
    'Cases that are not reached by the tools of a more specific key, because this key sets the same fields. Listed if the write changed one of the two rules.',
});
const member = named('Member', object({ uid: text, email: text, role: word(roles), createdAt: dateTime }));
const key = named(
  'Key',
  object({
    id: text,
    name: text,
    last4: { ...text, description: 'end of the key, to recognize it' },
    scopes: listOf(word(scopes)),
    uid: { ...orNull(text), description: 'the member it acts as; null for a service key' },
    madeBy: text,
    tier: orNull(word(tiers)),
    agent: orNull(text),
    client: orNull(text),
    expiresAt: orNull(dateTime),
    revokedAt: orNull(dateTime),
    createdAt: dateTime,
  }),
);
const entry = named('AuditEntry', {
  // The sidecar may be newer than this program and send more fields.
  additionalProperties: true,
  ...object(
    {
      id: text,
      tool: text,
      decision: word(['allow', 'deny']),
      decisionReason: { ...text, description: 'a code, a colon, and an explanation for people' },
      agentName: text,
      agentTier: word(tiers),
      sub: text,
      userEmail: text,
      sessionId: text,
      requestId: text,
      ts: dateTime,
      receivedAt: dateTime,
      hookEvent: word(['PreToolUse', 'PostToolUse']),
      client: object({ name: text }, { version: text }),
      depth: integer,
    },
    {
      code: text,
      agentId: text,
      agentType: text,
      role: word([...roles, '']),
      keyId: text,
      peerUid: {
        ...integer,
        description:
          'the uid of the process that connected to the Unix domain socket of the sidecar, by the kernel of its machine; absent if the call came in another way',
      },
      traceId: { ...text, description: 'the trace that the call is part of, in hex, if it is known; the caller chooses it' },
      spanId: { ...text, description: 'the span of the call in that trace, or that of its caller' },
      originSub: text,
      chain: { ...texts, description: 'agent names from the root to the caller' },
      runChain: texts,
      chainClaimed: { const: true },
      parentProfileId: text,
      epoch: text,
      revision: integer,
      policyAgeMs: integer,
      outage: { const: true },
      rule: object({ layer: word([...layers, 'default']), path: text, revision: integer }, { part: text, override: { const: true } }),
      undecided: {
        ...listOf(object({ document: text, path: text, reason: text, at: text })),
        description:
          'cases whose conditions could not be evaluated, at most 16: why, and at which part of the condition; the strictest of what their rules may say applied',
      },
      shadow: object(
        { decision: word(rulePermissions), code: text, reason: text, transform: word(['log', 'redact']) },
        { approximate: { const: true } },
      ),
      approval: {
        ...object({ id: text }, { by: text, at: dateTime }),
        description: 'the approval that the call waited for, was answered by, or was made with; `by` and `at`: who answered, and when',
      },
      transform: word(['log', 'redact']),
      findings: listOf(object({ kind: text, count: integer })),
      inputDigest: text,
      input: { description: `as the transform left it, cut at ${bounds.auditInputBytes} bytes` },
      inputCut: { const: true },
      latencyUs: integer,
      outcome: object(
        { isError: flag, durationMs: { type: 'number' } },
        { outputDigest: text, action: word(['pass', 'redact', 'block']), code: text },
      ),
      recordedBy: {
        ...orNull(text),
        description:
          'the key that the spool of the entry was started with; `control-plane` for its own runs; null: unknown, because the spool is older than this field',
      },
      deliveredBy: {
        ...text,
        description: 'the key that delivered the entry: a different one if another process adopted the spool of a process that ended',
      },
      subClaimed: {
        ...text,
        description: 'the subject that a library claimed, if its key may not name it; then `sub` is the subject of the key',
      },
      tsClaimed: { ...text, description: 'the time that a sidecar claimed, if it cannot be right' },
      raw: { ...text, description: 'the recorded text, if it is not an entry' },
      mended: { ...texts, description: 'fields of the record that were not valid and were replaced' },
    },
  ),
});
const event = named(
  'AdminEvent',
  object({ id: text, at: dateTime, sub: text, keyId: text, action: text, target: text, revision: integer, detail: { type: 'object' } }),
);

const approvalFields = {
  id: text,
  question: { ...text, description: 'calls of one round that meet the same rules have the same question' },
  state: word(approvalStates),
  createdAt: dateTime,
  expiresAt: { ...dateTime, description: 'until then a person may answer' },
  usableUntil: { ...orNull(dateTime), description: 'until then the approved call may begin; null: it is not approved' },
  answeredAt: orNull(dateTime),
  by: { ...orNull(text), description: 'the uid of the member who answered last' },
  note: orNull(text),
  uses: { ...integer, description: 'how often the approved call may be made' },
  used: { ...integer, description: 'how many uses were claimed and not returned' },
  need: { ...integer, description: 'how many persons must approve; of several rules, the largest number' },
  approvals: listOf(object({ by: text, at: dateTime, via: word(['key', 'session']) })),
  call: object({
    tool: text,
    agent: { ...text, description: 'the calling agent, by id, or by name if none of that name is registered' },
    agentType: text,
    agents: { ...texts, description: 'from the root to the caller' },
    tier: word(tiers),
    sub: { ...text, description: 'the person that the call is made for' },
    sessionId: text,
    keyId: { ...text, description: 'the key that asked' },
    revision: { ...integer, description: "the workspace's revision by which it was asked" },
    claimedClient: { ...text, description: 'what the agent says of itself; it is not proved' },
  }),
  rules: listOf(object({ document: text, path: text, approvers: texts, need: integer, reason: orNull(text) })),
  shownInput: { description: 'the input as redaction leaves it: any JSON' },
  shownText: { ...text, description: 'the same as JSON text for people: invisible and bidirectional characters are escaped' },
  inputCut: { const: false },
  findings: listOf(object({ kind: text, count: integer })),
  hidden: {
    ...listOf(object({ path: text, kind: text, length: { ...integer, description: 'in UTF-16 code units' } })),
    description: 'what the tool receives although it is not shown',
  },
  revealedBy: { ...texts, description: 'the uids of the members who have seen the hidden values' },
  why: { ...text, description: 'which rules ask, and their reasons' },
};
const approval = named('Approval', object(approvalFields));
const wholeApproval = named(
  'WholeApproval',
  object({
    ...approvalFields,
    questionIds: { ...texts, description: 'the approvals of the same question, the oldest first' },
    steps: {
      ...listOf(object({ at: dateTime, action: text, sub: text, keyId: text, detail: { type: 'object', additionalProperties: true } })),
      description:
        'the steps of the approval, the oldest first, at most 200; `detail.state` is the state after the step; `sub` and `keyId` are empty if time or a sidecar made it',
    },
    session: object({
      calls: {
        ...listOf(object({ ts: dateTime, tool: text, decision: word(['allow', 'deny']), code: text, reason: text })),
        description: 'the last governed calls of the session, newest first, at most 10',
      },
    }),
  }),
);

const usageCounts = {
  promptTokens: integer,
  completionTokens: integer,
  toolCallCount: { ...integer, description: 'calls that were allowed' },
};
const usageCost = {
  estimatedCostCents: { type: 'number', minimum: 0, description: 'with fractions of a cent' },
  model: text,
};
const stopReason = {
  ...word(stopReasons),
  description:
    '`goal_complete`: the agent finished; `max_output`: its last reply was cut off at the longest output of its model; `refused`: the model, or a filter of its provider, refused to continue',
};
const runResult = named(
  'RunResult',
  object({
    id: text,
    status: { const: 'completed' },
    output: { ...text, description: "the agent's last text" },
    conversationId: { ...text, description: '`sessionId` of the entries of its tool calls' },
    usage: object({ ...usageCounts, ...usageCost, durationMs: integer }),
    stopReason,
  }),
);
const runWaits = named(
  'RunWaits',
  object({
    id: text,
    status: { const: 'waiting' },
    conversationId: text,
    approvals: listOf(
      object({
        callId: { ...text, description: "the model's id of the call" },
        tool: text,
        approvalId: { ...text, description: 'the approval that the call waits for' },
      }),
    ),
  }),
);
const runFields = {
  id: text,
  agentId: text,
  agentName: { ...text, description: "the agent's when the run began" },
  sub: { ...text, description: 'the subject that started the run and that is charged for it' },
  conversationId: text,
  status: word(runStatuses),
  startedAt: dateTime,
  usage: {
    ...object(usageCost, {
      ...usageCounts,
      roundCount: { ...integer, description: 'rounds in which the model asked for tools' },
      durationMs: integer,
    }),
    description:
      'of an active run: as of its last round; without the counts if they are unknown, because the control plane of the run ended unexpectedly',
  },
};
const perhapsOfRun = {
  parentRunId: { ...text, description: 'the run that delegated the task' },
  stopReason,
  endedAt: dateTime,
  cancelRequestedAt: dateTime,
};
const runSummary = named('RunSummary', object(runFields, perhapsOfRun));
const run = named(
  'Run',
  object(
    { ...runFields, request: { description: 'the request, redacted by policy' }, output: text },
    {
      ...perhapsOfRun,
      error: { ...text, description: 'why it failed' },
      approvalIds: { ...texts, description: 'the approvals that a waiting run waits for' },
      transcript: {
        description:
          'the messages, redacted by policy; of an active run, or one whose control plane ended unexpectedly, as of its last round',
      },
    },
  ),
);

/**
 * Returns the schema of an event of a stream. In the stream, `event` and `id` are fields of the event, and `data` is one
 * line of JSON.
 */
const streamed = (event: string, data: JsonSchema, id?: JsonSchema): JsonSchema =>
  object({ event: { const: event }, ...(id === undefined ? {} : { id }), data });

const calledTool = { callId: text, tool: text };
const awaited = { ...calledTool, approvalId: text };
const eventNumber = { ...text, description: 'counts the events of the stream, from 1' };
const runEvents: Readonly<Record<string, JsonSchema>> = {
  text: object({ delta: text }),
  tool_calls: object({ round: integer, calls: listOf(object({ ...calledTool, input: { description: 'any JSON' } })) }),
  governance: object(
    { ...calledTool, decision: word(['allow', 'deny']), reason: text, transform: word(['log', 'redact']) },
    { rule: object({ layer: text, path: text, revision: integer }) },
  ),
  tool_result: object({ ...calledTool, isError: flag, output: { description: 'any JSON' } }),
  approval_required: object({ round: integer, calls: listOf(object(awaited)) }),
  approval_decided: object({ ...awaited, state: word(approvalStates), by: orNull(text) }),
  done: refOf(runResult),
  error: object({ error: text }),
};
const runEvent = named('RunEvent', {
  oneOf: Object.entries(runEvents).map(([event, data]) => streamed(event, data, eventNumber)),
  description:
    'An event of a streamed run. `governance` comes once for each call, before its `tool_result`; `done` or `error` is the last event.',
});
const entryEvent = named('AuditEntryEvent', {
  ...streamed('entry', refOf(entry), { ...text, description: 'the place of the entry in the ingest sequence, for `Last-Event-ID`' }),
  description: 'An event of the live stream of the audit log.',
});
const approvalEvent = named('ApprovalEvent', {
  ...streamed('approval', refOf(approval)),
  description: 'An event of the stream of approvals: an approval as it is after a change.',
});
const workspaceEvent = named('WorkspaceEvent', {
  ...streamed('workspace', object({ frozen: { ...flag, description: 'every call of the workspace is denied' }, revision: integer })),
  description: 'An event of the stream of the state of a workspace.',
});

const listedTool = {
  name: { ...text, description: '`<server>.<tool>`' },
  description: { ...text, description: 'as the server describes it' },
  requiredScopes: { ...texts, description: 'scopes that an agent needs to call it' },
  admitted: { ...flag, description: 'whether this definition is admitted, which `toolDefinitions: "pinned"` requires' },
};
const digest = {
  digest: {
    ...text,
    description: 'SHA-256 in hex of the definition that the server gives; absent: a release without digests discovered the tool',
  },
};
const annotations = {
  annotations: {
    ...object({}, Object.fromEntries(toolHintNames.map((name) => [name, flag]))),
    description: 'the hints that the definition gives, which conditions read as `tool.annotations`; absent: none are known',
  },
};
const tool = named('Tool', object({ ...listedTool, inputSchema: { type: 'object' } }, { ...digest, ...annotations }));
const serverWith = (tools: JsonSchema): JsonSchema =>
  object(
    { name: text, tools, discoveredAt: dateTime, createdAt: dateTime },
    {
      url: text,
      headers: { ...texts, description: 'names; the values are never shown' },
      command: object({ program: text, args: texts, env: { ...texts, description: 'names; the values are never shown' } }),
    },
  );
const toolServer = named('ToolServer', serverWith(listOf(refOf(tool))));
const listedToolServer = named('ListedToolServer', serverWith(listOf(object(listedTool, digest))));

export const components = [
  error,
  agent,
  policyCase,
  workspacePolicy,
  workspacePolicyPatch,
  policy,
  policyPatch,
  userPolicy,
  userPolicyPatch,
  shownUserPolicy,
  rule,
  override,
  conditionWarning,
  passedCases,
  member,
  key,
  entry,
  event,
  approval,
  wholeApproval,
  runResult,
  runWaits,
  runSummary,
  run,
  runEvent,
  entryEvent,
  approvalEvent,
  workspaceEvent,
  tool,
  toolServer,
  listedToolServer,
];

export const errorRef = refOf(error);
export const agentRef = refOf(agent);
export const workspacePolicyRef = refOf(workspacePolicy);
export const workspacePolicyPatchRef = refOf(workspacePolicyPatch);
export const policyRef = refOf(policy);
export const policyPatchRef = refOf(policyPatch);
export const userPolicyPatchRef = refOf(userPolicyPatch);
const userPolicyRef = refOf(userPolicy);
export const shownUserPolicyRef = refOf(shownUserPolicy);
/** The notices in the answer to a write of policy. */
export const policyNotices = {
  overrides: listOf(refOf(override)),
  passedBy: { ...listOf(refOf(passedCases)), maxItems: 100 },
  warnings: listOf(refOf(conditionWarning)),
};
export const memberRef = refOf(member);
export const keyRef = refOf(key);
export const entryRef = refOf(entry);
export const eventRef = refOf(event);
export const approvalRef = refOf(approval);
export const wholeApprovalRef = refOf(wholeApproval);
export const runResultRef = refOf(runResult);
export const runWaitsRef = refOf(runWaits);
export const runSummaryRef = refOf(runSummary);
export const runRef = refOf(run);
export const runEventRef = refOf(runEvent);
export const entryEventRef = refOf(entryEvent);
export const approvalEventRef = refOf(approvalEvent);
export const workspaceEventRef = refOf(workspaceEvent);
export const toolRef = refOf(tool);
export const toolServerRef = refOf(toolServer);
export const listedToolServerRef = refOf(listedToolServer);

/** Returns the schemas of the sections of a policy set, which contains all policy documents. */
export const policySet = (shown: (document: JsonSchema) => JsonSchema): Readonly<Record<string, JsonSchema>> => ({
  workspacePolicy: shown(workspacePolicyRef),
  rolePolicies: { ...mapOf(shown(policyRef)), description: 'by role' },
  agentTypePolicies: byAgentType(shown(policyRef)),
  userPolicies: { ...mapOf(shown(userPolicyRef)), description: "by uid; only the organisation's parts, not the members' own parts" },
});
