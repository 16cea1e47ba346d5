// Redacts what a tool server receives in addition to a call's arguments, and its answers to requests that are not
// calls. Members that the protocol or the server depends on stay unchanged, because a model does not read them.
import { payloadOf, redactPayload } from '../../../engine/govern/payload.ts';
import type { GovernedRun } from '../../../engine/govern/run.ts';
import { type By, redactedPart } from './passing.ts';
import type { ServerResponse } from './pending.ts';
import { memberAt, withMember, withMembersOf } from '../../../upstream/wire/json-text.ts';
import { isFields } from '../../../upstream/wire/message.ts';
import { errorText, rpcErrors } from '../../../upstream/wire/rpc.ts';

type Fields = Readonly<Record<string, unknown>>;

const metaKeys: ReadonlySet<string> = new Set([
  'progressToken',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/subscriptionId',
  'io.modelcontextprotocol/related-task',
]);

/** The members of `_meta` that the protocol uses. */
export const protocolMeta = (meta: Fields): Fields => Object.fromEntries(Object.entries(meta).filter(([key]) => metaKeys.has(key)));

/**
 * The redacted params of a request without those named in `own`, which are handled elsewhere or must stay. Params over
 * our bounds are dropped.
 */
export function redactedParams(run: GovernedRun, by: By, params: Fields, own: readonly string[]): Fields {
  const { _meta: meta, ...all } = params;
  const others = Object.fromEntries(Object.entries(all).filter(([key]) => !own.includes(key)));
  return { ...fieldsOf(redactedPart(run, by, others)), ...(isFields(meta) ? { _meta: redactedMeta(run, by, meta) } : {}) };
}

function redactedMeta(run: GovernedRun, by: By, meta: Fields): Fields {
  const others = Object.fromEntries(Object.entries(meta).filter(([key]) => !metaKeys.has(key)));
  return { ...fieldsOf(redactedPart(run, by, others)), ...protocolMeta(meta) };
}

// If a value was replaced as a whole, nothing is left to forward.
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

/** The redacted answer to a request that is not a call. An answer that cannot be redacted is not forwarded. */
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
