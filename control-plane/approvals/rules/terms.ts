// Reads rules that ask from the messages of sidecars, and combines the terms of several rules. Pure.
import { askDigest, type AskingRule, readAskTerms } from '@tollgate/proto/contract';
import { isPlainText } from './plain-text.ts';

/** The maximum number of rules that ask about one call. */
export const rulesMax = 64;
/** The maximum of the terms of one rule, as JSON text. */
const termsBytes = 16_384;
const documentLength = 1_000;
const pathLength = 2_000;

const isText = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length <= length && isPlainText(value);

/** A rule as a message contains it: its terms are JSON text. */
export interface RuleMessage {
  readonly document: string;
  readonly path: string;
  readonly digest: string;
  readonly terms: string;
}

/** Returns the rule, or what is wrong with it. Its digest must be the one that is computed here. */
export function readRule({ document, path, digest, terms }: RuleMessage): AskingRule | { readonly problem: string } {
  if (document === '' || !isText(document, documentLength)) return { problem: `.document must be 1 to ${documentLength} characters` };
  if (path === '' || !isText(path, pathLength)) return { problem: `.path must be 1 to ${pathLength} characters` };
  if (Buffer.byteLength(terms) > termsBytes) return { problem: `.terms must be at most ${termsBytes} bytes` };
  const read = readAskTerms(parsedOf(terms), '.terms');
  if ('problem' in read) return { problem: `${read.problem.path} ${read.problem.message}` };
  if (askDigest(document, path, read) !== digest) return { problem: '.digest must be that of its document, path and terms' };
  return { document, path, digest, terms: read };
}

function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** What several rules ask together. Approvers and `need` stay those of each rule. Times are in seconds. */
export interface CombinedTerms {
  readonly pendingSeconds: number;
  readonly validSeconds: number;
  readonly uses: number;
  /** The largest `need` of a rule. */
  readonly need: number;
  readonly self: boolean;
  readonly independent: boolean;
  readonly viaSession: boolean;
}

/** Combines the terms of all rules that ask, at least one. The strictest holds. */
export function combineTerms(rules: readonly Pick<AskingRule, 'terms'>[]): CombinedTerms {
  const all = rules.map(({ terms }) => terms);
  return {
    pendingSeconds: Math.min(...all.map(({ pendingSeconds }) => pendingSeconds)),
    validSeconds: Math.min(...all.map(({ validSeconds }) => validSeconds)),
    uses: Math.min(...all.map(({ uses }) => uses)),
    need: Math.max(...all.map(({ need }) => need)),
    self: all.every(({ self }) => self === true),
    independent: all.some(({ independent }) => independent === true),
    viaSession: all.some(({ via }) => via === 'session'),
  };
}
