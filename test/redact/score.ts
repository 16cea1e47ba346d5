// Scores a redactor on labelled rows: of what must go, how much went (recall) and how often more went with it; of what only looks like it,
// how much was changed (damage).
import { type RedactionKind, redactionKinds } from '@tollgate/proto/contract';
import { isPositive, type Negative, type Positive, type Row } from './corpus.ts';
import { formsOf, survivalOf } from './survival.ts';

/** A row's text as it leaves a redactor: `[redacted:…]` wherever it found something. */
export type RedactRow = (row: Row) => string | Promise<string>;

interface Scored<R extends Row> {
  readonly row: R;
  readonly output: string;
}

interface ScoredPositive extends Scored<Positive> {
  readonly values: number;
  readonly gone: number;
  /** More than the values went, or it is no longer the same text around them. */
  readonly isExcess: boolean;
}

interface ScoredNegative extends Scored<Negative> {
  readonly isDamaged: boolean;
}

export interface Score {
  readonly positives: readonly ScoredPositive[];
  readonly negatives: readonly ScoredNegative[];
}

/** `rows`: what the count is of; `values`: how many of them, labelled. */
export interface Recall {
  readonly rows: number;
  readonly values: number;
  readonly gone: number;
  readonly recall: number;
  readonly excess: number;
}

export interface Damage {
  readonly rows: number;
  readonly damaged: number;
  readonly damage: number;
}

// The targets' groups. Secrets are told by form (they say whose they are) or by structure (what is around them does).
export const kindGroups = {
  'secrets by form': [
    'cloud_key',
    'code_hosting_token',
    'payment_key',
    'messaging_token',
    'model_key',
    'registry_token',
    'service_token',
    'tollgate_key',
  ],
  'secrets by structure': ['private_key', 'jwt', 'authorization', 'url_credentials'],
  'secrets by name': ['password', 'secret'],
  'structured personal data': ['email', 'payment_card', 'iban', 'phone', 'national_id', 'ip_address'],
  'other personal data': ['mac_address', 'crypto_address'],
} as const satisfies Readonly<Record<string, readonly RedactionKind[]>>;

/** Those that have a form or a structure of their own. */
export const secretGroups = [...kindGroups['secrets by form'], ...kindGroups['secrets by structure']] as const;

// Whether the `+` of a number or the `=` of a key goes with it is a matter of taste.
const leftMin = 2;
const leftShare = 0.1;

export async function scoreRows(rows: readonly Row[], redact: RedactRow): Promise<Score> {
  const positives: ScoredPositive[] = [];
  const negatives: ScoredNegative[] = [];
  for (const row of rows) {
    const output = await redact(row);
    if (isPositive(row)) positives.push(scorePositive(row, output));
    else negatives.push({ row, output, isDamaged: output !== row.text });
  }
  return { positives, negatives };
}

function scorePositive(row: Positive, output: string): ScoredPositive {
  const values = row.values.length;
  const survival = survivalOf(row.text, output, row.values);
  if (survival === null) {
    const gone = row.values.filter((value) => formsOf(value).every((form) => !output.includes(form))).length;
    return { row, output, values, gone, isExcess: true };
  }
  const gone = row.values.filter((value, at) => (survival.left[at] ?? 0) <= Math.max(leftMin, value.length * leftShare)).length;
  return { row, output, values, gone, isExcess: survival.excess > 0 };
}

export function recallOf({ positives }: Score, kinds: readonly RedactionKind[] = redactionKinds): Recall {
  const of = positives.filter(({ row }) => kinds.includes(row.kind));
  const values = of.reduce((sum, row) => sum + row.values, 0);
  const gone = of.reduce((sum, row) => sum + row.gone, 0);
  return { rows: of.length, values, gone, recall: gone / values, excess: of.filter(({ isExcess }) => isExcess).length };
}

/** `like`: of the rows that look like that; of all where it is left out. */
export function damageOf({ negatives }: Score, like?: string): Damage {
  const of = negatives.filter(({ row }) => like === undefined || row.like === like);
  const damaged = of.filter(({ isDamaged }) => isDamaged).length;
  return { rows: of.length, damaged, damage: damaged / of.length };
}
