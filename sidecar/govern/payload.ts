// A tool's input or output as redaction sees it: the JSON that it becomes, whatever hides in `toJSON` or in what JSON
// leaves out. One way for every door.
import { bounds, canonicalJson, type Finding, type JsonSize, NotJson, payloadSize, plainRedaction } from '@tollgate/proto/contract';
import type { Decision } from '../decide/decision.ts';
import { keptKinds } from '../decide/kept-kinds.ts';
import { type Redactor, redactorFor } from '../redact/index.ts';
import { plainData } from './plain-data.ts';
import type { GovernedRun } from './run.ts';

export interface Payload {
  readonly value: unknown;
  /** Canonical JSON of it. */
  readonly text: string;
  /** JSON as it was written: what it says beyond `text`, such as digits that no number holds, is to stay. */
  readonly json?: string;
}

export interface Redacted extends Payload {
  /** By kind, in a fixed order; empty when nothing was changed. */
  readonly findings: readonly Finding[];
}

/** A tool's output, which may be larger than an input. */
export const outputSize: JsonSize = { characters: bounds.toolOutputBytes, nodes: bounds.toolOutputNodes };

/** Of what was within its bounds: marks may be longer than what they stand for. */
const redactedSize: JsonSize = { characters: Number.POSITIVE_INFINITY, nodes: Number.POSITIVE_INFINITY };

/**
 * A value from outside with its JSON, or why there is none: reading it may run code of its own, which may throw.
 * `handsOn`: what redaction leaves of the value is to go on in its place, so nothing of it may be beside the JSON.
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

/** Where nothing is found, what is handed on is what was handed in. */
export function redactPayload(run: GovernedRun, tool: string, { value, text, json }: Payload): Redacted {
  const redacted = redactorOf(run, tool).redactJson(json ?? text, run.numbers);
  if (redacted.findings.length === 0) return { value, text, findings: [] };
  const changed: unknown = JSON.parse(redacted.text);
  const written = json === undefined ? {} : { json: redacted.text };
  // Canonical again: keys that were redacted have another place.
  return { value: changed, text: canonicalJson(changed, redactedSize), ...written, findings: byKind(redacted.findings) };
}

/** The decision with what its words quote of the call redacted, where the entry is to be. */
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

// One decision is handed out for many calls, of tools whose redactors may differ.
const harmless = new WeakMap<Decision, WeakSet<Redactor>>();

/** As the workspace says now; where nothing is held any more, all that is built in is looked for. */
export function redactorOf({ cell }: GovernedRun, tool: string): Redactor {
  const redaction = cell.current?.settings.redaction ?? plainRedaction;
  return redactorFor(redaction, keptKinds(redaction, tool).kinds);
}

export function byKind(placed: readonly Finding[]): readonly Finding[] {
  const counts = new Map<string, number>();
  for (const { kind, count } of placed) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1));
}
