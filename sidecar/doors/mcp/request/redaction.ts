// Redacts everything except the arguments and the outcome of calls. The policy decision about the call or the method
// determines the redaction. Redacted are progress, logs, questions of the server and the client's answers to them; what
// a server receives in addition to the arguments of a call; and answers to requests that are not calls. Members that
// the protocol or the server depends on stay unchanged, because a model does not read them.
import { planFor } from '../../../engine/decide/plan.ts';
import { payloadOf, redactPayload } from '../../../engine/govern/payload.ts';
import { callerOf, type GovernedRun } from '../../../engine/govern/run.ts';
import type { Permit } from '../../../engine/govern/verdict.ts';
import type { ToolServer } from '../../../upstream/upstream.ts';
import { memberAt, withMember, withMembersOf } from '../../../upstream/wire/json-text.ts';
import { isFields } from '../../../upstream/wire/message.ts';
import { otherMeta, protocolMeta } from '../../../upstream/wire/meta.ts';
import { errorText, rpcErrors } from '../../../upstream/wire/rpc.ts';
import { policyName } from '../list/list.ts';
import type { McpSession } from '../session/sessions.ts';
import type { Pending, ServerResponse } from './pending.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The call or method with the decision that controls the redaction. */
type By = Pick<Permit, 'tool' | 'decision'>;

/**
 * Returns data that belongs to a call but is not its arguments or its outcome. The data is redacted by the policy for
 * the tool of the call. Data over our limits is dropped.
 */
function redactedPart(run: GovernedRun, { tool, decision }: By, value: unknown): unknown {
  if (decision.transform !== 'redact') return value;
  const payload = payloadOf(value, true);
  return 'problem' in payload ? {} : redactPayload(run, tool, payload).value;
}

/** Returns the redaction of messages that belong to no call. The policy decides about the method under its own name. */
export const passingBy =
  (run: GovernedRun, server: ToolServer, method: string): Pending['passing'] =>
  (text) =>
    passingText(run, sideline(run, server, method), text);

/**
 * Returns the redaction of messages that belong to a call. The result may be kept for a long time, so it references
 * nothing of the call's input.
 */
export function passingOf(run: GovernedRun, { tool, decision }: By): Pending['passing'] {
  return (text) => passingText(run, { tool, decision }, text);
}

/**
 * Returns the redaction of messages that may belong to any call of a session, such as those on the stream that a client
 * keeps open. They are redacted by the policy for `<server>.messages`, and also by the redaction of each redacted call
 * of the session.
 */
export const passingInSession =
  (run: GovernedRun, server: ToolServer, session: McpSession | null): Pending['passing'] =>
  (text) =>
    [...(session?.redacting.values() ?? [])].reduce((passed, passing) => passing(passed), passingBy(run, server, 'messages')(text));

/** Returns a client's answer to a question of its server, redacted. */
export const answerBy = (run: GovernedRun, server: ToolServer, value: unknown): unknown =>
  redactedPart(run, sideline(run, server, 'messages'), value);

/**
 * Returns the current policy decision about a method that is not a tool. The policy knows it as `<server>.<method>`.
 */
export function sideline(run: GovernedRun, server: ToolServer, method: string): By {
  const tool = policyName(server, method);
  const caller = callerOf(run);
  return { tool, decision: (caller.plans.get(tool) ?? planFor(caller, tool)).outcome };
}

/** Redacts the `params` of progress, logs and questions in the same way as the output of their call. */
function passingText(run: GovernedRun, { tool, decision }: By, text: string): string {
  const span = memberAt(text, ['params']);
  if (decision.transform !== 'redact' || span === null) return text;
  const json = text.slice(span.start, span.end);
  const payload = payloadOf(JSON.parse(json), true);
  if ('problem' in payload) return withMember(text, ['params'], '{}');
  const redacted = redactPayload(run, tool, { ...payload, json });
  if (redacted.findings.length === 0) return text;
  return withMembersOf(text, withMember(text, ['params'], redacted.json ?? redacted.text), passingMembers);
}

// Client and server use these members to match a message to its request, so they stay unchanged.
const passingMembers: readonly (readonly string[])[] = [
  ['params', 'progressToken'],
  ['params', 'requestId'],
  ['params', 'elicitationId'],
  ['params', '_meta', 'io.modelcontextprotocol/subscriptionId'],
  ['params', '_meta', 'io.modelcontextprotocol/related-task'],
];

/**
 * Returns the redacted params of a request. Params named in `own` are left out: they are handled elsewhere or must stay
 * unchanged. Params over our limits are dropped.
 */
export function redactedParams(run: GovernedRun, by: By, params: Fields, own: readonly string[]): Fields {
  const { _meta: meta, ...all } = params;
  const others = Object.fromEntries(Object.entries(all).filter(([key]) => !own.includes(key)));
  return { ...fieldsOf(redactedPart(run, by, others)), ...(isFields(meta) ? { _meta: redactedMeta(run, by, meta) } : {}) };
}

function redactedMeta(run: GovernedRun, by: By, meta: Fields): Fields {
  const others = otherMeta(meta);
  return { ...fieldsOf(redactedPart(run, by, others)), ...protocolMeta(meta) };
}

// If redaction replaced the whole value, no fields are left to forward.
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/**
 * Returns the redacted answer to a request that is not a call. If an answer cannot be redacted, returns an error
 * instead.
 */
export function redactedAnswer(run: GovernedRun, { tool, decision }: By, response: ServerResponse): string {
  const { text, holds, id, value } = response;
  const span = memberAt(text, [holds]);
  if (decision.transform !== 'redact' || span === null) return text;
  const json = text.slice(span.start, span.end);
  const payload = payloadOf(value, true);
  if ('problem' in payload) return errorText(id, rpcErrors.internal, `policy redacts the answer, and it ${payload.problem}`);
  const redacted = redactPayload(run, tool, { ...payload, json });
  if (redacted.findings.length === 0) return text;
  const written = redacted.json ?? redacted.text;
  if (!written.startsWith('{')) return errorText(id, rpcErrors.internal, 'policy redacts the answer, and nothing of it is left');
  return restored(response, withMember(text, [holds], written));
}

export const restored = (response: ServerResponse, text: string): string => withMembersOf(response.text, text, protocolMembers);

const protocolMembers: readonly (readonly string[])[] = [
  ['error', 'code'],
  ['result', 'resultType'],
  ['result', 'requestState'],
  ['result', 'nextCursor'],
];
