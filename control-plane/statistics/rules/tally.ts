// Counts the entries of a commit for the statistics: decisions by all that they are asked by, and redacted findings by
// their kind. `store/count-stored.ts` counts stored entries by the same rules in SQL. Pure.
import { hash } from 'node:crypto';
import { isObject } from '@tollgate/proto/shape';

/** The parts of an entry that are counted. */
export interface CountableEntry {
  /** ISO 8601 with milliseconds, UTC. */
  readonly ts: string;
  readonly tool: string;
  readonly decision: 'allow' | 'deny';
  readonly agentName: string;
  /** The entry's fields, as they are stored. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The number of minutes in an hour, or of hours in a day: what a row of counts is divided into. */
export type Slots = 24 | 60;

interface CountRow {
  /** ISO 8601: the beginning of the hour (60 slots) or of the day (24 slots). */
  readonly at: string;
  readonly slots: Slots;
  readonly counts: readonly number[];
  readonly total: number;
  /** ISO 8601: the oldest and the newest entry that was counted. */
  readonly firstAt: string;
  readonly lastAt: string;
}

export interface CountedDecision {
  readonly decision: 'allow' | 'deny';
  /** Something was found in the input, and redacted. */
  readonly redacted: boolean;
  /** Empty: the entry has no code. */
  readonly code: string;
  readonly tool: string;
  readonly agentName: string;
}

interface DecisionRow extends CountRow, CountedDecision {
  /** 32 hex digits that stand for the counted decision. */
  readonly key: string;
}

interface FindingRow extends CountRow {
  readonly kind: string;
}

export interface Tally {
  readonly decisions: readonly DecisionRow[];
  readonly findings: readonly FindingRow[];
}

/** A sidecar that writes what it likes can make a bounded number of rows. Redaction itself has fewer kinds. */
export const findingBounds = { perEntry: 32, kindBytes: 256, count: 1_000_000 } as const;

const codeForm = /^[a-z0-9_]{1,64}$/;

/** The counts of one hour. */
interface Hour<K> {
  readonly of: K;
  /** Such as `2026-06-25T12`. */
  readonly hour: string;
  readonly counts: number[];
  total: number;
  firstAt: string;
  lastAt: string;
}

/** Counts entries one by one. The result is read once, after the last one. */
export function createTally() {
  const decisions = new Map<string, Hour<CountedDecision>>();
  const findings = new Map<string, Hour<{ readonly kind: string }>>();
  return {
    add: ({ ts, tool, decision, agentName, fields }: CountableEntry): void => {
      const found = fields['transform'] === 'redact' && Array.isArray(fields['findings']) ? fields['findings'] : [];
      if (fields['hookEvent'] === 'PreToolUse') {
        const { code: stated } = fields;
        const code = typeof stated === 'string' && codeForm.test(stated) ? stated : '';
        const redacted = found.length > 0;
        const key = `${decision}\0${redacted}\0${code}\0${tool}\0${agentName}`;
        count(decisions, key, ts, 1, () => ({ decision, redacted, code, tool, agentName }));
      }
      for (const finding of found.slice(0, findingBounds.perEntry))
        if (isCountable(finding)) count(findings, finding.kind, ts, finding.count, () => ({ kind: finding.kind }));
    },
    read: (): Tally => ({
      decisions: rowsOf(decisions).map(({ of, name, ...row }) => ({ ...row, ...of, key: hash('sha256', name, 'hex').slice(0, 32) })),
      findings: rowsOf(findings).map(({ of, name: _name, ...row }) => ({ ...row, ...of })),
    }),
  };
}

const zeros = (slots: Slots): number[] => Array.from({ length: slots }, () => 0);

function isCountable(finding: unknown): finding is { readonly kind: string; readonly count: number } {
  if (!isObject(finding)) return false;
  const { kind, count: times } = finding;
  if (typeof kind !== 'string' || kind === '' || Buffer.byteLength(kind) > findingBounds.kindBytes) return false;
  return Number.isInteger(times) && Number(times) >= 1 && Number(times) <= findingBounds.count;
}

function count<K>(hours: Map<string, Hour<K>>, name: string, ts: string, times: number, of: () => K): void {
  const hour = ts.slice(0, 13);
  const key = `${hour}${name}`;
  let row = hours.get(key);
  if (row === undefined) {
    row = { of: of(), hour, counts: zeros(60), total: 0, firstAt: ts, lastAt: ts };
    hours.set(key, row);
  }
  const minute = Number(ts.slice(14, 16));
  row.counts[minute] = (row.counts[minute] ?? 0) + times;
  row.total += times;
  if (ts < row.firstAt) row.firstAt = ts;
  if (ts > row.lastAt) row.lastAt = ts;
}

/** Returns the rows of the hours, and those of their days. */
function rowsOf<K>(hours: ReadonlyMap<string, Hour<K>>): readonly (CountRow & { readonly of: K; readonly name: string })[] {
  const days = new Map<string, Hour<K>>();
  const rows = [...hours].map(([key, { hour, ...row }]) => {
    const name = key.slice(hour.length);
    const day = hour.slice(0, 10);
    const sum = days.get(`${day}${name}`);
    const at = Number(hour.slice(11));
    if (sum === undefined) {
      const counts = zeros(24);
      counts[at] = row.total;
      days.set(`${day}${name}`, { ...row, hour: day, counts });
    } else {
      sum.counts[at] = (sum.counts[at] ?? 0) + row.total;
      sum.total += row.total;
      if (row.firstAt < sum.firstAt) sum.firstAt = row.firstAt;
      if (row.lastAt > sum.lastAt) sum.lastAt = row.lastAt;
    }
    return { ...row, name, slots: 60 as const, at: `${hour}:00:00.000Z` };
  });
  const ofDays = [...days].map(([key, { hour: day, ...row }]) => {
    return { ...row, name: key.slice(day.length), slots: 24 as const, at: `${day}T00:00:00.000Z` };
  });
  return [...rows, ...ofDays];
}
