// A name from outside as an entry shows it where it is none: what no name may hold is escaped, and it is cut to what a name may be.
import { bounds, nameProblem } from '@tollgate/proto/contract';

const cutMark = '…';

/** A name that may be one is as it is. */
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
