// Converts a tool's input or output to the form that redaction reads: the JSON that it becomes, including what `toJSON`
// returns and what JSON leaves out. Every door uses this.
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
  /** The JSON as it was written. Its details beyond `text` are kept, such as digits that no number can hold. */
  readonly json?: string;
}

export interface RedactedPayload extends Payload {
  /** By kind, in a fixed order. Empty: nothing was changed. */
  readonly findings: readonly Finding[];
}

/** The bounds for a tool's output, which may be larger than an input. */
export const outputSize: JsonSize = { characters: bounds.toolOutputBytes, nodes: bounds.toolOutputNodes };

/** Applies to values that were within their bounds before: marks may be longer than the text that they replace. */
const redactedSize: JsonSize = { characters: Number.POSITIVE_INFINITY, nodes: Number.POSITIVE_INFINITY };

/**
 * Returns a value from outside with its JSON, or the reason why it has none: reading the value may run its own code,
 * which may throw. `handsOn`: the redacted value is forwarded in place of the original, so the value must contain
 * nothing outside its JSON.
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

/** If nothing is found, the returned value is the given value. */
export function redactPayload(run: GovernedRun, tool: string, { value, text, json }: Payload): RedactedPayload {
  const redacted = redactorOf(run, tool).redactJson(json ?? text, run.numbers);
  if (redacted.findings.length === 0) return { value, text, findings: [] };
  const changed: unknown = JSON.parse(redacted.text);
  const written = json === undefined ? {} : { json: redacted.text };
  // The text is made canonical again, because redacted keys have another place in the order.
  return { value: changed, text: canonicalJson(changed, redactedSize), ...written, findings: byKind(redacted.findings) };
}

/** Returns the decision with a redacted reason if the entry must be redacted: the reason may quote the call. */
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

// One decision is used for many calls, of tools whose redactors may differ.
const harmless = new WeakMap<Decision, WeakSet<Redactor>>();

/** Uses the current settings of the workspace. If no policy is held any more, all built-in kinds are redacted. */
export function redactorOf({ cell }: GovernedRun, tool: string): Redactor {
  const redaction = cell.current?.settings.redaction ?? plainRedaction;
  return redactorFor(redaction, keptKinds(redaction, tool).kinds);
}

export function byKind(placed: readonly Finding[]): readonly Finding[] {
  const counts = new Map<string, number>();
  for (const { kind, count } of placed) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1));
}
