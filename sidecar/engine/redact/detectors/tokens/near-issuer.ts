// Finds secrets whose form alone proves nothing (32 hex digits, a UUID) next to the name of their issuer:
// `DD_API_KEY=…`, `new ZhipuAI("…")`, `deepgram token: …`. A digest near a vendor's name is not a secret. Therefore a
// word for a key must be between the name and the value, or the value must be an argument of the name or be assigned to
// it.
import type { Detector, MatchReporter } from '../../detector.ts';
import { isDrawn } from './drawn.ts';
import { cloudIssuers, type Issuer, messagingIssuers, modelIssuers, paymentIssuers, serviceIssuers } from './issuers.ts';
import { hasRun, lengthBefore, lettersOf, wordLetters } from './letters.ts';
import { afterBreak } from './token.ts';

interface CompiledIssuer {
  readonly patterns: readonly RegExp[];
  readonly isReal: (value: string) => boolean;
}

const compile = ({ value, isReal = isDrawn, namesKey }: Issuer): CompiledIssuer => {
  const end = `${afterBreak}(${value.source})(?![A-Za-z0-9])`;
  const beforeKey = namesKey === true ? '' : String.raw`[^\n]{0,24}?(?:key|token|secret|cred|pass)`;
  return {
    isReal,
    patterns: [
      new RegExp(String.raw`${beforeKey}[^]{1,28}?${end}`, 'iy'),
      new RegExp(
        String.raw`\w{0,16}(?: (?:prod|live|dev|test|stage|staging))?(?:\(|=|: ?|%3D|\\u003[dD]|[ \t]*[=|,] ?|">)\\?["'\x60]?${end}`,
        'y',
      ),
    ],
  };
};
// The maximum distance in characters from a name to the end of its secret.
const after = 192;
// A name is ignored if at least this many characters of the same word precede it.
const before = 24;
const valueLetters = lettersOf(/[\w+/%-]/);
const valueLengthMin = 20;

function issuerDetector(kind: string, issuers: readonly Issuer[]): Detector {
  const byName = new Map(issuers.flatMap((issuer) => issuer.names.map((name) => [name, compile(issuer)] as const)));
  return {
    kind,
    anchors: [...byName.keys()],
    reach: { before, after },
    find: (text, at, end, found) => {
      const issuer = byName.get(text.slice(at, end).toLowerCase());
      // If a name is repeated many times without a gap, only the first ones are examined. `hasRun` is a fast check:
      // after most names there is no value that is long enough.
      if (issuer === undefined || lengthBefore(text, at, wordLetters, before) === before) return;
      if (hasRun(text, end, Math.min(text.length, end + after), valueLetters, valueLengthMin)) findNear(issuer, text, end, found);
    },
  };
}

function findNear({ patterns, isReal }: CompiledIssuer, text: string, end: number, found: MatchReporter): void {
  for (const pattern of patterns) {
    pattern.lastIndex = end;
    const value = pattern.exec(text)?.[1];
    if (value === undefined || !isReal(value)) continue;
    found(pattern.lastIndex - value.length, pattern.lastIndex);
    return;
  }
}

export const nearIssuer: readonly Detector[] = [
  issuerDetector('cloud_key', cloudIssuers),
  issuerDetector('payment_key', paymentIssuers),
  issuerDetector('messaging_token', messagingIssuers),
  issuerDetector('model_key', modelIssuers),
  issuerDetector('service_token', serviceIssuers),
];
