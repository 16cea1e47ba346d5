// Redacts messages other than calls and results, by the policy decision of the call they belong to: progress, logs,
// questions of the server, and the client's answers to them.
import { planFor } from '../../../engine/decide/plan.ts';
import { callerOf, type GovernedRun } from '../../../engine/govern/run.ts';
import { payloadOf, redactPayload } from '../../../engine/govern/payload.ts';
import type { Permit } from '../../../engine/govern/verdict.ts';
import { policyName } from '../list/list.ts';
import type { Pending } from './pending.ts';
import type { McpSession } from '../session/sessions.ts';
import type { ToolServer } from '../../../upstream/upstream.ts';
import { memberAt, withMember, withMembersOf } from '../../../upstream/wire/json-text.ts';

/** The call or method with the decision that controls the redaction. */
export type By = Pick<Permit, 'tool' | 'decision'>;

/** The redacted form of further data of a call for its tool. Data over our bounds is dropped. */
export function redactedPart(run: GovernedRun, { tool, decision }: By, value: unknown): unknown {
  if (decision.transform !== 'redact') return value;
  const payload = payloadOf(value, true);
  return 'problem' in payload ? {} : redactPayload(run, tool, payload).value;
}

/** For messages that belong to no call. The policy decides by the method, under its name. */
export const passingBy =
  (run: GovernedRun, server: ToolServer, method: string): Pending['passing'] =>
  (text) =>
    passingText(run, sideline(run, server, method), text);

/**
 * For messages that come with a call. The result may be kept for a long time, so it holds nothing of the call's input.
 */
export function passingOf(run: GovernedRun, { tool, decision }: By): Pending['passing'] {
  return (text) => passingText(run, { tool, decision }, text);
}

/**
 * For messages that may belong to any call of a session, such as those on the stream that a client keeps open. They are
 * redacted by the policy for `<server>.messages`, and also by the redaction of each redacted call of the session.
 */
export const passingInSession =
  (run: GovernedRun, server: ToolServer, session: McpSession | null): Pending['passing'] =>
  (text) =>
    [...(session?.redacting.values() ?? [])].reduce((passed, passing) => passing(passed), passingBy(run, server, 'messages')(text));

/** The redacted answer of a client to a question of its server. */
export const answerBy = (run: GovernedRun, server: ToolServer, value: unknown): unknown =>
  redactedPart(run, sideline(run, server, 'messages'), value);

/** The current policy decision for a method that is not a tool, under its name. */
export function sideline(run: GovernedRun, server: ToolServer, method: string): By {
  const tool = policyName(server, method);
  const caller = callerOf(run);
  return { tool, decision: (caller.plans.get(tool) ?? planFor(caller, tool)).outcome };
}

/** Redacts the `params` of progress, logs and questions of a call in the same way as its output. */
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

// Both sides use these members to match a message to its request.
const passingMembers: readonly (readonly string[])[] = [
  ['params', 'progressToken'],
  ['params', 'requestId'],
  ['params', 'elicitationId'],
  ['params', '_meta', 'io.modelcontextprotocol/subscriptionId'],
  ['params', '_meta', 'io.modelcontextprotocol/related-task'],
];
