// Passwords and secrets by the name that stands beside them, in any text.
import { type Detector, type Found, foundWhole } from '../../detector.ts';
import { valueBeside } from './assignment.ts';
import { goesOn, isWide, nameEndAfter, nameReach, nameStartBefore } from './name-span.ts';
import { passwordHeads, passwordPhrases, secretHeads, secretPhrases } from './name-words.ts';
import { bareOf, isCode, isPasswordValue, isSecretValue, isStrongPassword } from './named-value.ts';
import { type Called, calledBy, isNameOfOne } from './names.ts';
import { runEnd, type Value } from './value-span.ts';

// Where a value begins, and all of most. A longer one goes on while it is made of what keys are made of; a stream holds it
// back because it is found up to the end of what has come.
const reach = { before: nameReach + 4, after: 640 };

export const password: Detector = {
  kind: 'password',
  anchors: [...new Set([...passwordHeads, ...passwordPhrases])],
  reach,
  find: (text, at, end, found) => findNamed('password', text, at, end, found),
};

export const secret: Detector = {
  kind: 'secret',
  anchors: [
    ...new Set([
      ...secretHeads,
      ...secretPhrases,
      'key',
      'keys',
      'mnemonic',
      'auth',
      'recovery code',
      'backup code',
      'recovery_code',
      'backup_code',
    ]),
  ],
  reach,
  find: (text, at, end, found) => findNamed('secret', text, at, end, found),
};

function findNamed(kind: 'password' | 'secret', text: string, at: number, end: number, found: Found): void {
  if (goesOn(text, end)) return;
  const nameEnd = nameEndAfter(text, end);
  const nameStart = nameStartBefore(text, at);
  if (nameStart === null || isPartOfOther(text, nameStart)) return;
  const called = calledBy(text.slice(nameStart, nameEnd));
  if (called.kind !== kind) return;
  const value = valueBeside(text, nameStart, nameEnd);
  if (value === null || (value.isCut === true && inKey.test(text.charAt(nameStart - 1)))) return;
  const written = bareOf(text.slice(value.start, value.end));
  const meant = { ...called, isVerb: verb.test(text.slice(nameStart, nameEnd)) };
  if (!isMeant(kind, meant, value, written) || isSibling(text.slice(nameStart, at), value, written)) return;
  if (value.isCut === true) foundWhole(found, value.start, runEnd(text, value), reach);
  else found(value.start, value.end);
}

// A name within such a run has its value there; so of a long run only the first name is asked.
const inKey = /[\w+/=.~%-]/;

interface Meant extends Called {
  /** `Pass checkDMS as true`. */
  readonly isVerb: boolean;
}
const verb = /^pass$/i;
// `by --user and --password options`.
const afterFlag =
  /^(?:options?|flags?|arguments?|args|param(?:eter)?s?|and|or|is|are|was|to|for|from|in|on|as|with|when|if|must|can|will|should|may|which|that)$/;
const siblingLengthMin = 6;

/** `SchemeOauth2Password | SchemeOauth2Implicit`: one of several names that begin alike. */
const isSibling = (owner: string, { form }: Value, value: string): boolean =>
  form === 'spoken' && owner.length >= siblingLengthMin && value.startsWith(owner);

/** Whether a value that stands so beside such a name is what the name says. */
function isMeant(kind: 'password' | 'secret', { vague, isVerb }: Meant, { form }: Value, value: string): boolean {
  if (kind === 'secret')
    return (
      isSecretValue(value, vague ? 24 : form === 'spoken' ? 16 : 8) &&
      (form !== 'spoken' || /\d/.test(value)) &&
      (form === 'quoted' || !isCode(value))
    );
  if (isNameOfOne(value) || (form === 'spoken' && isVerb && (/^-|=/.test(value) || /^[\p{L}\\._-]+\d{0,2}$/u.test(value)))) return false;
  if (form === 'quoted') return isPasswordValue(value);
  if (form === 'flag') return isPasswordValue(value) && !isCode(value) && !afterFlag.test(value);
  return isStrongPassword(value, form === 'bare' ? 5 : 6);
}

// Tokens that say where a list goes on, and keys that everybody may have.
const harmlessBefore = /(?:페이지|다음|ページ|次の|页面|下一页|分页|翻页|頁|公開|公开)\s?$/;
// `a=b=c=`: the first of them has taken the rest.
const chain = /(?:=|%3D)[^\s=]{1,40}(?:=|%3D)[%/-]{0,2}$/i;

/** Whether the name is a part of something that is none, as in `arn:aws:secretsmanager:eu-west-1:1234:secret:…`. */
function isPartOfOther(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  // The user of a URL, whose password its own detector finds.
  if (text.startsWith('://', start - 3)) return true;
  // A group of a regular expression.
  if (before === '<' && (text[start - 2] === '?' || text.startsWith('?P', start - 3))) return true;
  if (before === ':') return /[\w-]/.test(text.charAt(start - 2)) && !/env:$/i.test(text.slice(Math.max(0, start - 4), start));
  if ('=Dd%/-'.includes(before)) return chain.test(text.slice(Math.max(0, start - 48), start));
  return (
    ' 지음ジの面页頁開开'.includes(before) &&
    isWide(text.charCodeAt(start)) &&
    harmlessBefore.test(text.slice(Math.max(0, start - 5), start))
  );
}
