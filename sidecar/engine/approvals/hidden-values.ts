// Finds the values of an input that redaction hides from the people who are asked, although the tool receives them.
// Redaction keeps the shape of a JSON text: the strings and numbers of the redacted text are those of the original, in
// the same order.
import { type HiddenValue, scalarEnd, stringEnd } from '@tollgate/proto/contract';
import { rewriteStrings } from '../redact/json.ts';
import { overBudgetKind } from '../redact/marks.ts';

/** If more values are hidden, the whole input is one hidden value. */
const valuesMax = 200;

/** `text`: the canonical JSON of the input. `shown`: the JSON of it after redaction, with its keys in the same order. */
export function hiddenValues(text: string, shown: string): readonly HiddenValue[] {
  if (text === shown) return [];
  const originals = leavesOf(text);
  const hidden: HiddenValue[] = [];
  let count = 0;
  rewriteStrings(shown, { name: '', path: () => '' }, ({ text: leaf, path }) => {
    const original = originals[count] ?? '';
    count += 1;
    const decoded = original.startsWith('"') ? String(JSON.parse(original)) : original;
    if (decoded !== leaf && hidden.length <= valuesMax)
      hidden.push({ path: path(), kind: kindsIn(leaf, decoded), length: decoded.length, value: original });
    return leaf;
  });
  if (count === originals.length && hidden.length <= valuesMax) return hidden;
  const kind = count === originals.length ? [...new Set(hidden.map((one) => one.kind))].join(', ').slice(0, kindLengthMax) : overBudgetKind;
  return [{ path: '', kind, length: text.length, value: text }];
}

const kindLengthMax = 100;
const markKind = /\[redacted:([a-z][a-z0-9_]{0,39})/g;

/** Returns the kinds that redaction found in a leaf, separated by commas. */
function kindsIn(leaf: string, original: string): string {
  const kinds = (value: string): readonly string[] => [...value.matchAll(markKind)].map(([, kind = '']) => kind);
  const before = kinds(original);
  const found = kinds(leaf).filter((kind) => !before.includes(kind));
  return [...new Set(found.length === 0 ? kinds(leaf) : found)].join(', ').slice(0, kindLengthMax);
}

/** Returns the strings and numbers of a JSON text as they are written, keys included, in their order. */
function leavesOf(text: string): readonly string[] {
  const leaves: string[] = [];
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    const isString = code === 34; /* " */
    if (!isString && code !== 45 /* - */ && (code < 48 || code > 57)) {
      at += 1;
      continue;
    }
    const end = isString ? stringEnd(text, at) : scalarEnd(text, at);
    leaves.push(text.slice(at, end));
    at = end;
  }
  return leaves;
}
