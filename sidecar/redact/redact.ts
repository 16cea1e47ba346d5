// JSON in, JSON of the same shape out, with what was found replaced by `[redacted:<kind>]`, on keys and leaves. Pure and
// idempotent. The caller has bounded depth and size (`bounds.jsonDepth`, `bounds.bodyBytes`).
import type { Finding } from '@tollgate/proto/contract';
import { detectors } from './detect.ts';

export interface Redaction {
  readonly value: unknown;
  /** By kind, in a fixed order; empty when nothing was changed. */
  readonly findings: readonly Finding[];
}

export function redact(value: unknown): Redaction {
  const counts = new Map<string, number>();
  const redacted = redactValue(value, counts);
  const findings = [...counts].map(([kind, count]) => ({ kind, count })).sort((a, b) => (a.kind < b.kind ? -1 : 1));
  return { value: findings.length === 0 ? value : redacted, findings };
}

function redactValue(value: unknown, counts: Map<string, number>): unknown {
  if (typeof value === 'string') return redactText(value, counts);
  // A card number may come as a number; what it becomes is text.
  if (typeof value === 'number') {
    const text = String(value);
    const redacted = redactText(text, counts);
    return redacted === text ? value : redacted;
  }
  if (Array.isArray(value)) return value.map((item) => redactValue(item, counts));
  if (typeof value === 'object' && value !== null) return redactObject(value, counts);
  return value;
}

function redactObject(value: object, counts: Map<string, number>): object {
  const taken = new Set<string>();
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      const redacted = freeKey(redactText(key, counts), taken);
      taken.add(redacted);
      return [redacted, redactValue(child, counts)];
    }),
  );
}

/** Two keys that redact alike stay two keys. */
function freeKey(key: string, taken: ReadonlySet<string>): string {
  if (!taken.has(key)) return key;
  let number = 2;
  while (taken.has(`${key}#${number}`)) number += 1;
  return `${key}#${number}`;
}

function redactText(text: string, counts: Map<string, number>): string {
  let result = text;
  for (const { kind, pattern, confirm } of detectors) {
    result = result.replace(pattern, (match) => {
      if (confirm !== undefined && !confirm(match)) return match;
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return `[redacted:${kind}]`;
    });
  }
  return result;
}
