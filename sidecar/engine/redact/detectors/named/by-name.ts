// Finds passwords and secrets by the name before them, in any text.
import { type Detector, foundWhole, type MatchReporter } from '../../detector.ts';
import { valueOfName } from './assignment.ts';
import { continues, isWide, nameEndAfter, nameReach, nameStartBefore } from './name-span.ts';
import { passwordHeads, passwordPhrases, secretHeads, secretPhrases } from './name-words.ts';
import { bareOf, isCode, isPasswordValue, isSecretValue, isStrongPassword } from './named-value.ts';
import { calledBy, isNameOfOne, type NameMeaning } from './names.ts';
import { runEnd, type Value } from './value-span.ts';

// `before`: the length of a name. `after`: the distance to where a value begins, plus the length of most values. A
// longer value continues as long as its characters are characters of keys. In a stream, a longer value is found up to
// the end of the text that was received, so that text is held back.
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

function findNamed(kind: 'password' | 'secret', text: string, at: number, end: number, found: MatchReporter): void {
  if (continues(text, end)) return;
  const nameEnd = nameEndAfter(text, end);
  const nameStart = nameStartBefore(text, at);
  if (nameStart === null || isPartOfOther(text, nameStart)) return;
  const called = calledBy(text.slice(nameStart, nameEnd));
  if (called.kind !== kind) return;
  const value = valueOfName(text, nameStart, nameEnd);
  if (value === null || (value.isCut === true && inKey.test(text.charAt(nameStart - 1)))) return;
  const written = bareOf(text.slice(value.start, value.end));
  const meant = { ...called, isVerb: verb.test(text.slice(nameStart, nameEnd)) };
  if (!isMeant(kind, meant, value, written) || isSibling(text.slice(nameStart, at), value, written)) return;
  if (value.isCut === true) foundWhole(found, value.start, runEnd(text, value), reach);
  else found(value.start, value.end);
}

// A name inside such a run of characters has its value in the same run. Therefore only the first name of a long run is
// examined.
const inKey = /[\w+/=.~%-]/;

interface SpokenMeaning extends NameMeaning {
  /** True: the name may be a verb, as in `Pass checkDMS as true`. */
  readonly isVerb: boolean;
}
const verb = /^pass$/i;
// Words after a flag that are not its value: `by --user and --password options`.
const afterFlag =
  /^(?:options?|flags?|arguments?|args|param(?:eter)?s?|and|or|is|are|was|to|for|from|in|on|as|with|when|if|must|can|will|should|may|which|that)$/;
const siblingLengthMin = 6;

/** Returns whether the value is another name with the same beginning: `SchemeOauth2Password | SchemeOauth2Implicit`. */
const isSibling = (owner: string, { form }: Value, value: string): boolean =>
  form === 'spoken' && owner.length >= siblingLengthMin && value.startsWith(owner);

/** Returns whether a value in this form is the password or secret that the name announces. */
function isMeant(kind: 'password' | 'secret', { vague, isVerb }: SpokenMeaning, { form }: Value, value: string): boolean {
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

// Words before a name that make it harmless: tokens for the next page of a list, and public keys.
const harmlessBefore = /(?:페이지|다음|ページ|次の|页面|下一页|分页|翻页|頁|公開|公开)\s?$/;
// `a=b=c=`: the first name has already taken the rest as its value.
const chain = /(?:=|%3D)[^\s=]{1,40}(?:=|%3D)[%/-]{0,2}$/i;

/**
 * Returns whether the name is part of something without a value, as in
 * `arn:aws:secretsmanager:eu-west-1:1234:secret:…`.
 */
function isPartOfOther(text: string, start: number): boolean {
  const before = text.charAt(start - 1);
  // The name is the user of a URL. The password of the URL has its own detector.
  if (text.startsWith('://', start - 3)) return true;
  // The name is a group of a regular expression.
  if (before === '<' && (text[start - 2] === '?' || text.startsWith('?P', start - 3))) return true;
  if (before === ':') return /[\w-]/.test(text.charAt(start - 2)) && !/env:$/i.test(text.slice(Math.max(0, start - 4), start));
  if ('=Dd%/-'.includes(before)) return chain.test(text.slice(Math.max(0, start - 48), start));
  return (
    ' 지음ジの面页頁開开'.includes(before) &&
    isWide(text.charCodeAt(start)) &&
    harmlessBefore.test(text.slice(Math.max(0, start - 5), start))
  );
}
