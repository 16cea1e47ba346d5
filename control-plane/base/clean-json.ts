// Makes JSON that PostgreSQL can store and that later readers can process: no NUL, no unpaired surrogate, no number
// beyond doubles, limited depth.
import { bounds } from '@tollgate/proto/contract';

/** Slightly more than the limit for a caller's own JSON, because that JSON is nested in an entry. */
export const depthMax = bounds.jsonDepth + 8;

const suspicious = /[\0\p{Cs}]/u;
const nul = /\0/gu;
const surrogate = /\p{Cs}/gu;

const suspiciousEscape = /\\u(?:0000|d[89a-f])/i;

/** `text` is the JSON of a value. Returns whether `cleanJson` would accept all characters of this value. */
export const isCleanText = (text: string): boolean => !suspiciousEscape.test(text);

/**
 * Returns a copy that can be stored. `marks` receives the kind of each repair: `nul`, `surrogate`, `number`, `depth`.
 */
export function cleanJson(value: unknown, marks: Set<string>, depth = 0): unknown {
  if (typeof value === 'string') return cleanText(value, marks);
  if (typeof value === 'number' && !Number.isFinite(value)) {
    marks.add('number');
    return null;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) {
    marks.add('depth');
    return null;
  }
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, marks, depth + 1));
  // `Object.fromEntries` is used, so that a key such as `__proto__` stays a normal key.
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [cleanText(key, marks), cleanJson(child, marks, depth + 1)]));
}

export function cleanText(text: string, marks: Set<string>): string {
  if (!suspicious.test(text)) return text;
  if (text.includes('\0')) marks.add('nul');
  const withoutNul = text.replace(nul, '\uFFFD');
  const clean = withoutNul.replace(surrogate, '\uFFFD');
  if (clean !== withoutNul) marks.add('surrogate');
  return clean;
}
