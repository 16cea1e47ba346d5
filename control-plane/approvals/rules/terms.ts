// Reads the terms of rules that ask, and combines those of several rules. The terms come from a sidecar, so they are
// checked like those of a document. Pure.
import { askBounds, askDigest, type AskingRule, type CompiledAsk, isRole, uidProblem } from '@tollgate/proto/contract';
import { isObject } from '@tollgate/proto/shape';
import { isPlainText } from './plain-text.ts';

/** The maximum number of rules that ask about one call. */
export const rulesMax = 64;
/** The maximum of the terms of one rule, as JSON text. */
const termsBytes = 16_384;
const documentLength = 1_000;
const pathLength = 2_000;

const isApprover = (value: unknown): value is string => {
  if (value === 'subject') return true;
  if (typeof value !== 'string') return false;
  if (value.startsWith('role:')) return isRole(value.slice('role:'.length));
  return value.startsWith('user:') && uidProblem(value.slice('user:'.length)) === null;
};

const isWithin = (value: unknown, { min, max }: { readonly min: number; readonly max: number }): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max;

const isText = (value: unknown, length: number): value is string =>
  typeof value === 'string' && value.length <= length && isPlainText(value);

const known = new Set([
  'approvers',
  'need',
  'waitSeconds',
  'pendingSeconds',
  'validSeconds',
  'uses',
  'self',
  'independent',
  'via',
  'reason',
  'channels',
]);

/** Returns what is wrong with the terms; null: they are `CompiledAsk`. */
function termsProblem(terms: unknown): string | null {
  if (!isObject(terms)) return 'must be an object';
  const unknown = Object.keys(terms).find((name) => !known.has(name));
  if (unknown !== undefined) return `holds the unknown field ${JSON.stringify(unknown.slice(0, 40))}`;
  const { approvers, self, independent, via, reason, channels } = terms;
  if (!Array.isArray(approvers) || approvers.length === 0 || approvers.length > askBounds.approvers || !approvers.every(isApprover))
    return `.approvers must be 1 to ${askBounds.approvers} of role:<role>, user:<uid> and subject`;
  for (const name of ['need', 'waitSeconds', 'pendingSeconds', 'validSeconds', 'uses'] as const)
    if (!isWithin(terms[name], askBounds[name])) return `.${name} must be an integer from ${askBounds[name].min} to ${askBounds[name].max}`;
  if (![self, independent].every((flag) => flag === undefined || flag === true)) return '.self and .independent must be true or absent';
  if (via !== undefined && via !== 'session') return '.via must be session or absent';
  if (reason !== undefined && !isText(reason, askBounds.reasonLength))
    return `.reason must be at most ${askBounds.reasonLength} characters`;
  const areChannels =
    channels === undefined ||
    (Array.isArray(channels) && channels.length <= askBounds.channels && channels.every((one) => isText(one, 200)));
  return areChannels ? null : `.channels must be at most ${askBounds.channels} names`;
}

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
  const parsed = parsedOf(terms);
  const problem = termsProblem(parsed);
  if (problem !== null) return { problem: `.terms${problem.startsWith('.') ? '' : ' '}${problem}` };
  const compiled = parsed as CompiledAsk;
  if (askDigest(document, path, compiled) !== digest) return { problem: '.digest must be that of its document, path and terms' };
  return { document, path, digest, terms: compiled };
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
