// Finds cookies that identify a session. In `Cookie` and `Set-Cookie` headers they are found by their names or because
// a machine generated their values. In other places they are found by the names that frameworks give them.
import { startsWord } from '../../boundary.ts';
import { type Detector, foundWhole, type MatchReporter } from '../../detector.ts';
import { bitsPerCharacter } from '../entropy.ts';
import { endAt, isOutside, looksDrawn, runEnd, signs, valueAfter } from './match.ts';

const headerMax = 4_096;
const headerReach = { before: 16, after: headerMax + 2_304 };
const cookieReach = { before: 48, after: 2_304 };
const pairsMax = 64;
const name = /(?:\s|%20|\+){0,3}(?:[A-Za-z0-9_.$!#*^~|@-]|%(?!3[BD])){1,96}(?:=|%3D)"?/iy;
// If the header itself is encoded, `%3B` ends the value.
const value = /(?:[!#$&)*+\--:=?-Z^-z|}~]|%(?!0[AD]|2[027]|3B)){0,2048}/iy;
// Matches the rest of a long value, so that the value is found as a whole.
const valueRest = /(?:[!#$&)*+\--:=?-Z^-z|}~]|%(?!0[AD]|2[027]|3B))*/iy;
const inValue = /[!#$%&)*+\--:=?-Z^-z|}~]/;
const inHeader = /(?:;|%3B)(?:\s|%20|\+){0,3}$/i;
const nextPair = /"?(?:;|%3B)/iy;
const owner = /(?:set-|set_|http_|x-|document\.|--)$/i;

const secretName =
  /sess|sid$|^s?id$|auth|token|jwt|sso|saml|remember|[cx]srf|secret|login|logged_in|credential|passport|identity|^__(?:host|secure)-|aspnet|aspx|^li_at$|access|refresh|api_?key/i;
// Cookies that are known to count visits, or to store a user's choice.
const harmlessName =
  /^(?:_ga|_gid|_gat|_gcl|_fb|_hj|_pk_|_uet|_cl[cs]k|ajs_|amp_|mp_|__utm|_dd_s|__cf|_cfuvid|optimizely|optanon|amcv|_scid|_tt_|_rdt|intercom-id|consent|cookie|lang|locale|theme|tz|visitor|_vwo|nid$|ttp|hubspotutk|__hs)|consent|version$|_type$/i;
const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** Finds session cookies in `Cookie` and `Set-Cookie` headers. */
export const cookieHeader: Detector = {
  kind: 'authorization',
  anchors: [...signs.flatMap((sign) => [`cookie${sign}`, `cookies${sign}`]), '--cookie ', "-b '", '-b "'],
  reach: headerReach,
  find: (text, begin, end, found) => {
    const owned = owner.exec(text.slice(Math.max(0, begin - 10), begin))?.[0].length ?? 0;
    if (!isOutside(text, begin - owned, inValue) || inHeader.test(text.slice(Math.max(0, begin - 16), begin - owned))) return;
    const isArgument = text[begin] === '-';
    let at = isArgument ? end : valueAfter(text, begin + (/^cookies/i.test(text.slice(begin, end)) ? 7 : 6));
    const limit = end + headerMax;
    for (let pairs = 0; pairs < pairsMax && at !== -1 && at < limit; pairs++) at = findPair(text, at, found);
  },
};

/**
 * Reads one pair of the header and reports its value if it is a secret. Returns where the next pair could begin, or -1.
 */
function findPair(text: string, at: number, found: MatchReporter): number {
  const start = endAt(name, text, at);
  if (start === -1) return -1;
  const called = text.slice(at, start).replaceAll(/^(?:\s|%20|\+)*|(?:=|%3D)"?$/gi, '');
  const seen = endAt(value, text, start);
  if (!isSecret(called, text.slice(start, seen))) return endAt(nextPair, text, seen);
  const end = runEnd(text, seen, valueRest);
  if (end === seen) found(start, end);
  else foundWhole(found, start, end, headerReach);
  return endAt(nextPair, text, end);
}

function isSecret(called: string, of: string): boolean {
  if (harmlessName.test(called)) return false;
  if (secretName.test(called)) return looksDrawn(of, 8);
  return looksDrawn(of, 24) && bitsPerCharacter(of) >= 3.5 && !uuid.test(of) && !/^%7B|^[\d.|-]+$/i.test(of);
}

const frameworkSign = /(?:=|%3D|["']?\s{0,2}[:=]>?\s{0,2}["']?|\\{1,3}["']\s?:\s?\\{1,3}["'])/iy;
// Express puts `s:` before signed values.
const frameworkValue = /(?:s:|s%3A)?(?:[A-Za-z0-9._~+/|-]|%(?:2[BF]|7C)){16,2048}(?:={0,2}|(?:%3D){0,2})/iy;

const frameworkRest = /[A-Za-z0-9._~+/|%=-]*/y;

/** Finds session cookies in any text, by names that are used for nothing else. */
export const sessionCookie: Detector = {
  kind: 'authorization',
  anchors:
    'phpsessid,jsessionid,asp.net_sessionid,sessionid=,connect.sid,.aspxauth,_session,-session,session-token,__host-,__secure-'.split(','),
  reach: cookieReach,
  find: (text, at, end, found) => {
    const nameEnd = text[end - 1] === '=' ? end - 1 : text[end - 1] === '-' ? endAt(/[A-Za-z0-9_.-]{1,64}/y, text, end) : end;
    const start = nameEnd === -1 ? -1 : endAt(frameworkSign, text, nameEnd);
    const stop = start === -1 ? -1 : endAt(frameworkValue, text, start);
    if (stop === -1 || (text[end - 1] === '=' && !startsWord(text, at))) return;
    const of = text.slice(start, stop);
    if (looksDrawn(of, 16) && /\d/.test(of) && !uuid.test(of) && !/^https?:/.test(of))
      foundWhole(found, start, runEnd(text, stop, frameworkRest), cookieReach);
  },
};
