// Formats an invalid name from outside for an audit entry. Characters that a name must not hold are escaped, and the
// result is cut to the maximum length of a name.
import { bounds, nameProblem } from '@tollgate/proto/contract';

const cutMark = '…';

/** Returns the name in a form that can be shown. A valid name is returned unchanged. */
export function shownName(name: string): string {
  if (nameProblem(name) === null) return name;
  let shown = '';
  for (const character of name) {
    const next = hidden.test(character) ? escaped(character) : character;
    if (shown.length + next.length > bounds.nameLength - cutMark.length) return shown + cutMark;
    shown += next;
  }
  return shown;
}

const hidden = /[\p{Cc}\p{Cf}\p{Cs}]/u;

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
