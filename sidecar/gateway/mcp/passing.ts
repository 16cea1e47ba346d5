// What passes besides calls and their results, redacted as policy says of the call that it belongs to: progress, logs,
// questions of the server and what the client answers to them.
import { planFor } from '../../decide/plan.ts';
import { callerOf, type GovernedRun } from '../../govern/run.ts';
import { payloadOf, redactPayload } from '../../govern/payload.ts';
import type { Permit } from '../../govern/verdict.ts';
import { policyName } from './list.ts';
import type { Pending } from './pending.ts';
import type { McpSession } from './sessions.ts';
import type { ToolServer } from './upstream.ts';
import { memberAt, withMember, withMembersOf } from './wire/json-text.ts';

/** The call or the method by whose decision something is redacted. */
export type By = Pick<Permit, 'tool' | 'decision'>;

/** What else of a call its tool gets. Over our bounds nothing of it. */
export function redactedPart(run: GovernedRun, { tool, decision }: By, value: unknown): unknown {
  if (decision.transform !== 'redact') return value;
  const payload = payloadOf(value, true);
  return 'problem' in payload ? {} : redactPayload(run, tool, payload).value;
}

/** Of what belongs to no call: by what policy says of the method, under its name. */
export const passingBy =
  (run: GovernedRun, server: ToolServer, method: string): Pending['passing'] =>
  (text) =>
    passingText(run, sideline(run, server, method), text);

/** Of what comes with a call. It may be kept for long, so nothing of the call's input is kept with it. */
export function passingOf(run: GovernedRun, { tool, decision }: By): Pending['passing'] {
  return (text) => passingText(run, { tool, decision }, text);
}

/**
 * Of what may belong to any call of a session, as what comes on the stream that a client holds open: by what policy says of
 * `<server>.messages`, and as each of the session's redacted calls would be.
 */
export const passingInSession =
  (run: GovernedRun, server: ToolServer, session: McpSession | null): Pending['passing'] =>
  (text) =>
    [...(session?.redacting.values() ?? [])].reduce((passed, passing) => passing(passed), passingBy(run, server, 'messages')(text));

/** What a client answers to a question of its server. */
export const answerBy = (run: GovernedRun, server: ToolServer, value: unknown): unknown =>
  redactedPart(run, sideline(run, server, 'messages'), value);

/** What policy says now of a method that is no tool, under its name. */
export function sideline(run: GovernedRun, server: ToolServer, method: string): By {
  const tool = policyName(server, method);
  const caller = callerOf(run);
  return { tool, decision: (caller.plans.get(tool) ?? planFor(caller, tool)).outcome };
}

/** Progress, logs and questions that come with a call: their `params` are redacted as its output is. */
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

// By these both sides know what a message belongs to.
const passingMembers: readonly (readonly string[])[] = [
  ['params', 'progressToken'],
  ['params', 'requestId'],
  ['params', 'elicitationId'],
  ['params', '_meta', 'io.modelcontextprotocol/subscriptionId'],
  ['params', '_meta', 'io.modelcontextprotocol/related-task'],
];
