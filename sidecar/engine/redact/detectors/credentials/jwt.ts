// Finds JSON Web Tokens: signed (RFC 7515, also with disclosures as in SD-JWT) and encrypted (RFC 7516). The first part
// of a token must be a header; a header alone is not a token. Also finds PASETO tokens, whose first two parts state
// what they are.
import { startsWord } from '../../boundary.ts';
import { type Detector, foundWhole, type MatchReporter } from '../../detector.ts';
import { endAt, isNearRunStart, runEnd } from './match.ts';

const header = /[A-Za-z0-9_-]{8,2048}(?=\.)/y;
const payload = /\.[A-Za-z0-9_-]{0,8192}/y;
// The last part of a signed token. It may be empty: the dot before it may also be the full stop of a sentence.
const signature = /\.[A-Za-z0-9_-]{0,4096}/y;
const encrypted = /\.[A-Za-z0-9_-]{1,128}\.[A-Za-z0-9_-]{0,8192}\.[A-Za-z0-9_-]{8,128}/y;
const disclosures = /(?:~[A-Za-z0-9_-]{0,256}){1,16}/y;
const paseto = /v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{32,4096}(?:\.[A-Za-z0-9_-]{2,512})?/y;
// Matches the rest of a token whose parts are longer.
const rest = /(?:\.?[A-Za-z0-9_-]+)*/y;
// The maximum length of a prefix such as `user_` in `user_eyJ…`. If more characters precede `eyJ`, as in `…x-eyJ…`, the
// text is part of a blob and not a token.
const prefixMax = 24;

const reach = { before: prefixMax + 8, after: 18_944 };

export const jwt: Detector = {
  kind: 'jwt',
  // The first anchors are `{"`, `{ "`, and `{` with a line break, in base64url.
  anchors: [
    'eyj',
    'eyai',
    'ewog',
    'ew0k',
    'v1.local.',
    'v2.local.',
    'v3.local.',
    'v4.local.',
    'v1.public.',
    'v2.public.',
    'v3.public.',
    'v4.public.',
  ],
  reach,
  find: (text, at, end, found) => {
    if (!startsWord(text, at)) return;
    if (text[at] === 'v') findPaseto(text, at, found);
    else if (/^(?:eyJ|eyAi|ewog|ew0K)$/.test(text.slice(at, end)) && isNearRunStart(text, at, prefixMax)) findToken(text, at, found);
  },
};

function findPaseto(text: string, at: number, found: MatchReporter): void {
  const end = endAt(paseto, text, at);
  if (end !== -1) found(at, end);
}

function findToken(text: string, at: number, found: MatchReporter): void {
  // The first key of the header is checked before the rest is read.
  if (!/^\{\s*"[a-z]/i.test(decoded(text.slice(at, at + 12)))) return;
  const headerEnd = endAt(header, text, at);
  if (headerEnd === -1) return;
  const says = decoded(text.slice(at, headerEnd));
  if (!/"(?:alg|enc)"\s*:\s*"/.test(says)) return;
  const payloadEnd = endAt(payload, text, headerEnd);
  const isEncrypted = /"enc"\s*:/.test(says);
  const signed = isEncrypted ? endAt(encrypted, text, payloadEnd) : endAt(signature, text, payloadEnd);
  const end = signed === -1 ? payloadEnd : Math.max(signed, endAt(disclosures, text, signed));
  if (end - headerEnd < 12) return;
  if (/[A-Za-z0-9_-]/.test(text.charAt(end))) foundWhole(found, at, runEnd(text, end, rest), reach);
  else found(at, end);
}

const decoded = (part: string): string => Buffer.from(part, 'base64url').toString('utf8');
