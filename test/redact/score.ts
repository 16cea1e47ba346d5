// Scores a redactor on labelled rows. Recall is the share of what must be removed that was removed; the score also
// counts how often more was removed with it. Damage is the share of look-alikes that was changed.
import { type RedactionKind, redactionKinds } from '@tollgate/proto/contract';
import { awaitedKinds, isPositive, type Negative, type Positive, type Row, type RowKind } from './corpus.ts';
import { formsOf, survivalOf } from './survival.ts';

/** Returns a row's text as the redactor leaves it, with `[redacted:…]` at each finding. */
export type RedactRow = (row: Row) => string | Promise<string>;

interface ScoredRow<R extends Row> {
  readonly row: R;
  readonly output: string;
}

interface ScoredPositive extends ScoredRow<Positive> {
  readonly values: number;
  readonly gone: number;
  /** More than the values was removed, or the text around them changed. */
  readonly isExcess: boolean;
}

interface ScoredNegative extends ScoredRow<Negative> {
  readonly isDamaged: boolean;
}

export interface Score {
  readonly positives: readonly ScoredPositive[];
  readonly negatives: readonly ScoredNegative[];
}

/** `rows`: the number of rows. `values`: the number of labelled values in them. */
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

// The groups of the targets. A secret is recognised by its form (it names its issuer) or by its structure (the text
// around it does).
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

/** The kinds with a form or a structure of their own. */
export const secretGroups = [...kindGroups['secrets by form'], ...kindGroups['secrets by structure']] as const;

// Whether the `+` of a number or the `=` of a key is removed with the value does not matter.
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

const scorePositive = (row: Positive, output: string): ScoredPositive => ({
  row,
  output,
  values: row.values.length,
  ...scoreValues(row.text, output, row.values),
});

/** Returns how many of the values are gone from the output, and whether more than these is gone. */
export function scoreValues(text: string, output: string, values: readonly string[]): Pick<ScoredPositive, 'gone' | 'isExcess'> {
  const survival = survivalOf(text, output, values);
  if (survival === null) {
    const gone = values.filter((value) => formsOf(value).every((form) => !output.includes(form))).length;
    return { gone, isExcess: true };
  }
  const gone = values.filter((value, at) => (survival.left[at] ?? 0) <= Math.max(leftMin, value.length * leftShare)).length;
  return { gone, isExcess: survival.excess > 0 };
}

export function recallOf({ positives }: Score, kinds: readonly RowKind[] = [...redactionKinds, ...awaitedKinds]): Recall {
  const of = positives.filter(({ row }) => kinds.includes(row.kind));
  const values = of.reduce((sum, row) => sum + row.values, 0);
  const gone = of.reduce((sum, row) => sum + row.gone, 0);
  return { rows: of.length, values, gone, recall: gone / values, excess: of.filter(({ isExcess }) => isExcess).length };
}

/** Scores the rows that look like `like`, or all rows where it is absent. */
export function damageOf({ negatives }: Score, like?: string): Damage {
  const of = negatives.filter(({ row }) => like === undefined || row.like === like);
  const damaged = of.filter(({ isDamaged }) => isDamaged).length;
  return { rows: of.length, damaged, damage: damaged / of.length };
}
