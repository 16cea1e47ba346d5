// Converts a tool's input or output to the form that redaction reads: its JSON. `toJSON` is applied, and what JSON
// leaves out is missing. Every door uses this.
import { bounds, canonicalJson, type Finding, type JsonSize, NotJson, payloadSize, plainRedaction } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import { keptKinds } from '../decide/kept-kinds.ts';
import { type Redactor, redactorFor } from '../redact/index.ts';
import { plainData } from './plain-data.ts';
import type { GovernedRun } from './run.ts';

export interface Payload {
  readonly value: unknown;
  /** The canonical JSON of `value`. */
  readonly text: string;
  /**
   * The JSON as it was written. It keeps details that `text` loses, such as digits beyond the precision of a number.
   */
  readonly json?: string;
}

export interface RedactedPayload extends Payload {
  /** The number of findings of each kind, sorted by kind. Empty: nothing was redacted. */
  readonly findings: readonly Finding[];
}

/** The bounds for a tool's output, which may be larger than an input. */
export const outputSize: JsonSize = { characters: bounds.toolOutputBytes, nodes: bounds.toolOutputNodes };

/**
 * No bounds, for a value after redaction. It was within its bounds before, but marks may be longer than the text that
 * they replace.
 */
const redactedSize: JsonSize = { characters: Number.POSITIVE_INFINITY, nodes: Number.POSITIVE_INFINITY };

/**
 * Returns a value from outside with its JSON. `problem`: the value has no JSON, or an error was thrown while the value
 * was read. Such an error is possible because reading may run the value's own code. `handsOn`: the redacted value is
 * forwarded in place of the original, so the value must contain nothing outside its JSON.
 */
export function payloadOf(value: unknown, handsOn: boolean, size: JsonSize = payloadSize): Payload | { readonly problem: string } {
  try {
    if (!handsOn) return { value, text: canonicalJson(value, size) };
    const plain = plainData(value, size);
    const text = canonicalJson(plain.value, size);
    return { value: plain.isItself ? value : JSON.parse(text), text };
  } catch (error) {
    return { problem: error instanceof NotJson ? error.message : 'cannot be read' };
  }
}

/** Returns the redacted payload and the findings. If nothing is found, `value` is returned unchanged. */
export function redactPayload(run: GovernedRun, tool: string, { value, text, json }: Payload): RedactedPayload {
  const redacted = redactorOf(run, tool).redactJson(json ?? text, run.numbers);
  if (redacted.findings.length === 0) return { value, text, findings: [] };
  const changed: unknown = JSON.parse(redacted.text);
  const written = json === undefined ? {} : { json: redacted.text };
  // Makes the text canonical again, because a redacted key may have another place in the order of keys.
  return { value: changed, text: canonicalJson(changed, redactedSize), ...written, findings: byKind(redacted.findings) };
}

/**
 * Returns the decision. If the entry of the decision must be redacted, the reason is redacted too, because a reason may
 * quote the call.
 */
export function withRedactedWords(run: GovernedRun, tool: string, decision: Decision): Decision {
  if (decision.storedTransform === 'log') return decision;
  const redactor = redactorOf(run, tool);
  const harmlessFor = harmless.get(decision) ?? new WeakSet();
  if (harmlessFor.has(redactor)) return decision;
  const redact = (words: string): string => redactor.redactText(words, run.numbers).text;
  const { reason, shadow } = decision;
  const words = { reason: redact(reason), shadow: shadow === null ? null : { ...shadow, reason: redact(shadow.reason) } };
  if (words.reason !== reason || words.shadow?.reason !== shadow?.reason) return Object.freeze({ ...decision, ...words });
  harmless.set(decision, harmlessFor.add(redactor));
  return decision;
}

// For each decision: the redactors that find nothing in the texts of the decision. There may be several, because one
// decision is used for calls of many tools, and these tools may have different redactors.
const harmless = new WeakMap<Decision, WeakSet<Redactor>>();

/**
 * Returns the redactor of a tool, by the current settings of the workspace. If no policy is held any more, it redacts
 * all built-in kinds.
 */
export function redactorOf({ cell }: GovernedRun, tool: string): Redactor {
  const redaction = cell.current?.settings.redaction ?? plainRedaction;
  return redactorFor(redaction, keptKinds(redaction, tool).kinds);
}

export function byKind(placed: readonly Finding[]): readonly Finding[] {
  const counts = new Map<string, number>();
  for (const { kind, count } of placed) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1));
}
