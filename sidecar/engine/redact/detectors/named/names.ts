// Determines what a name says about its value: in `"db_password": "…"`, in `API_KEY=…`, in `phone: …`.
import { ownText } from '@tollgate/proto/contract';
import { LRUCache } from 'lru-cache';
import { isContextName } from '../context/context.ts';
import { isCredentialContext } from '../credentials/context-name.ts';
import {
  harmlessOwners,
  keyOwners,
  passwordHeads,
  passwordPhrases,
  secretHeads,
  secretPhrases,
  trailers,
  vagueOwners,
} from './name-words.ts';
import { isPasswordValue, isSecretValue } from './named-value.ts';

export interface Meaning {
  /**
   * What the name announces. The value is a password or secret only if the value itself also looks like one. Null: the
   * name announces no secret.
   */
  readonly named: 'password' | 'secret' | null;
  /** True: other detectors read the value together with the name, because the name says what the value is. */
  readonly isContext: boolean;
}

/** What a name denotes. `vague`: the name denotes something harmless as often as a secret, as with `access_key`. */
export interface NameMeaning {
  readonly kind: 'password' | 'secret' | null;
  readonly vague: boolean;
}

const nothing: Meaning = { named: null, isContext: false };
const nameLengthMax = 100;
// Caches the meaning of payload keys, which are mostly the same from call to call. A name is a part of the payload text
// and would keep that text in memory, so this cache and `calls` store a copy.
const meanings = new LRUCache<string, Meaning>({ max: 2_000 });

export function meaningOf(name: string): Meaning {
  if (name.length === 0 || name.length > nameLengthMax) return nothing;
  const known = meanings.get(name);
  if (known !== undefined) return known;
  const { kind, vague } = calledBy(name);
  const meaning = { named: vague ? null : kind, isContext: vague || (kind === null && (isContextName(name) || isCredentialContext(name))) };
  meanings.set(ownText(name), meaning);
  return meaning;
}

/** Returns whether a whole JSON value is the secret that its name denotes. */
export const isNamedSecret = (kind: 'password' | 'secret', value: string): boolean =>
  kind === 'password' ? isPasswordValue(value) && !isNameOfOne(value) : isSecretValue(value);

/**
 * Returns whether the value is only the name of another value, as in `password: newPassword`. Names do not contain
 * signs such as `!` between letters.
 */
export const isNameOfOne = (value: string): boolean =>
  calledBy(value.slice(0, 64)).kind !== null && !/[\p{L}\d][!@#$%^*+?~]+[\p{L}\d]/u.test(value.slice(0, 64));

const noKind: NameMeaning = { kind: null, vague: false };
const passwordWords = new Set(passwordHeads);
const secretWords = new Set(secretHeads);
const gluedPassword = /(?:password|passwd|passwort|kennwort|passphrase|passcode|storepass|keypass|סיסמה|סיסמא|סיסמת)$/;
const gluedSecret = /(?:token|secret|apikey|secretkey|privatekey|authkey)$/;
const shortPasswords =
  /^(?:pg|my|db|sql|mysql|pgsql|user|usr|root|admin|adm|ftp|smtp|ssh|wifi|wlan|mail|imap|ldap|redis|mongo|bind|http|proxy|require|master|app|api|svc|n)(?:pass|pwd|pw)$/;

const calls = new LRUCache<string, NameMeaning>({ max: 2_000 });

/** Returns what a name in any notation denotes. A name longer than `nameLengthMax` characters denotes nothing. */
export function calledBy(name: string): NameMeaning {
  if (name.length < 2 || name.length > nameLengthMax) return noKind;
  const known = calls.get(name);
  if (known !== undefined) return known;
  const called = readName(name);
  calls.set(ownText(name), called);
  return called;
}

function readName(name: string): NameMeaning {
  const lower = name.toLowerCase();
  if (passwordPhrases.some((phrase) => lower.endsWith(phrase))) return { kind: 'password', vague: false };
  if (secretPhrases.some((phrase) => lower.endsWith(phrase))) return { kind: 'secret', vague: false };
  const words = wordsOf(name);
  while (words.length > 1 && isTrailer(words)) words.pop();
  const last = words.at(-1);
  if (last === undefined) return noKind;
  return passwordOf(words, last) ?? secretOf(words, last) ?? noKind;
}

/**
 * Returns whether the last word of a name only follows the head and does not change the meaning of the head. This is
 * false for `salt`, which is a head of its own, as in `token_salt`.
 */
const isTrailer = (words: readonly string[]): boolean => {
  const last = words.at(-1) ?? '';
  return last !== 'salt' && (trailers.has(last) || /^\d{1,3}$/.test(last));
};

const notGiven = new Set([
  'no',
  'has',
  'is',
  'show',
  'hide',
  'forgot',
  'forgotten',
  'bad',
  'wrong',
  'invalid',
  'missing',
  'require',
  'requires',
  'required',
  'lost',
  'weak',
  'max',
  'min',
  'with',
  'boarding',
  'test',
  'tests',
]);

function passwordOf(words: readonly string[], last: string): NameMeaning | null {
  const before = words.at(-2) ?? '';
  const isOne =
    passwordWords.has(last) ||
    passwordWords.has(before + last) ||
    passwordWords.has((words.at(-3) ?? '') + before + last) ||
    gluedPassword.test(last) ||
    shortPasswords.test(last);
  if (!isOne) return null;
  return notGiven.has(before) ? noKind : { kind: 'password', vague: false };
}

function secretOf(words: readonly string[], last: string): NameMeaning | null {
  const before = words.at(-2) ?? '';
  if (last === 'key' || last === 'keys') return keyOf(words, before);
  if ((last === 'code' || last === 'codes') && ['backup', 'recovery', 'scratch'].includes(before)) return { kind: 'secret', vague: false };
  if (last === 'mnemonic' || last === 'requirepass' || last === 'masterauth' || last === 'auth')
    return { kind: 'secret', vague: last === 'auth' };
  const glued = gluedSecret.exec(last);
  if (!secretWords.has(last) && glued === null) return null;
  const owner = secretWords.has(last) ? before : last.slice(0, glued?.index);
  return harmlessOwners.has(owner) ? noKind : { kind: 'secret', vague: last === 'salt' };
}

function keyOf(words: readonly string[], before: string): NameMeaning | null {
  if (words.some((word) => word === 'public' || word === 'publishable')) return null;
  const isSecret = words.includes('secret') || words.includes('private');
  if (!isSecret && !keyOwners.has(before)) return null;
  return { kind: 'secret', vague: !isSecret && vagueOwners.has(before) };
}

/** Returns the words of a name: `spring.dbPassword2` → spring, db, password, 2. */
const wordsOf = (name: string): string[] =>
  name
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replaceAll(/(\p{L})(\d)/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{M}\d]+/u)
    .filter((word) => word !== '');
