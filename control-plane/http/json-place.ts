// Finds the place where a text stops being JSON. It is called only after `JSON.parse` has failed, because the messages
// of `JSON.parse` either lack the place or quote the text. It has its own pattern for tokens, because
// `proto/contract/json-tokens.ts` accepts more than JSON.
import { skipBlanks } from '@tollgate/proto/contract';

interface PlaceInText {
  /** The first line is 1. */
  readonly line: number;
  readonly column: number;
}

const token =
  /[ \t\n\r]*(?:([{}[\],:])|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null))/y;

/** The tokens that are allowed next. In an object, a key precedes each value. */
type ExpectedToken = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | 'end of value';

export const placeOfError = (text: string): PlaceInText => placeOf(text, offsetOfError(text));

export function placeOf(text: string, offset: number): PlaceInText {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return { line, column: before.length - before.lastIndexOf('\n') };
}

/** Returns the offset of the first invalid or misplaced token. */
function offsetOfError(text: string): number {
  const open: string[] = [];
  let expected: ExpectedToken = 'value';
  token.lastIndex = 0;
  for (;;) {
    const start = skipBlanks(text, token.lastIndex);
    token.lastIndex = start;
    const [, mark, string, literal] = token.exec(text) ?? [];
    const next = step(expected, mark ?? (string === undefined ? (literal === undefined ? 'nothing' : 'literal') : 'string'), open);
    if (next === null) return start;
    expected = next;
  }
}

/**
 * Returns what is expected after the token, or null when the token is misplaced. Updates `open`, the list of open
 * brackets.
 */
function step(expected: ExpectedToken, found: string, open: string[]): ExpectedToken | null {
  const inner = open.at(-1);
  if (expected === ':') return found === ':' ? 'value' : null;
  if (expected === 'key' || expected === 'key or }') {
    if (found === 'string') return ':';
    return found === '}' && expected === 'key or }' ? close(open) : null;
  }
  if (expected === 'end of value') {
    if (found === ',' && inner !== undefined) return inner === '{' ? 'key' : 'value';
    return (found === '}' && inner === '{') || (found === ']' && inner === '[') ? close(open) : null;
  }
  if (found === ']' && expected === 'value or ]') return close(open);
  if (found === 'string' || found === 'literal') return 'end of value';
  if (found !== '{' && found !== '[') return null;
  open.push(found);
  return found === '{' ? 'key or }' : 'value or ]';
}

function close(open: string[]): ExpectedToken {
  open.pop();
  return 'end of value';
}
