// Formats scores as lines of data and as a text table.
import type { FamilyScore } from './families.ts';
import { damageOf, kindGroups, recallOf, type Score } from './score.ts';

/**
 * The score of one kind, one group, or one likeness. `share`: the share of values that were removed, or of look-alikes
 * that were damaged.
 */
export interface Line {
  readonly group: string;
  /** Empty for the group as a whole. */
  readonly of: string;
  readonly rows: number;
  readonly share: number;
  /** The number of rows in which too much was removed. 0 for look-alikes. */
  readonly excess: number;
}

/** Returns the lines for everything that the rows contain, in the same order for every score of the same rows. */
export function linesOf(score: Score): readonly Line[] {
  const recalls = Object.entries(kindGroups).flatMap(([group, kinds]) =>
    [kinds, ...kinds.map((kind) => [kind])].map((of, at): Line => {
      const { rows, recall, excess } = recallOf(score, of);
      return { group, of: at === 0 ? '' : (of[0] ?? ''), rows, share: recall, excess };
    }),
  );
  const likes = [...new Set(score.negatives.map(({ row }) => row.like))].toSorted();
  const damages = [undefined, ...likes].map((like): Line => {
    const { rows, damage } = damageOf(score, like);
    return { group: 'look-alikes', of: like ?? '', rows, share: damage, excess: 0 };
  });
  return [...recalls, ...damages].filter(({ rows }) => rows > 0);
}

/**
 * Prints each line as a row, with a column for each library: the share, and in brackets the number of rows with
 * excess.
 */
export function renderScores(scores: readonly { readonly name: string; readonly lines: readonly Line[] }[]): string {
  const header = ['', 'rows', ...scores.map(({ name }) => name)];
  const lines = (scores[0]?.lines ?? []).map(({ group, of, rows }, at) => [
    of === '' ? group : `  ${of}`,
    String(rows),
    ...scores.map(({ lines }) => renderShare(lines[at])),
  ]);
  return renderColumns([header, ...lines]);
}

/** Prints a row for each family. A row of the corpus counts as whole if one mark replaced all of it. */
export function renderFamilies(scores: readonly FamilyScore[]): string {
  const header = ['', 'rows', 'values', 'recall', 'rows with excess', 'harmless', 'damaged', 'whole'];
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
  const lines = scores.map(({ family, rows, values, gone, excess, whole, harmless, damaged }) => [
    family,
    String(rows),
    String(values),
    percent(gone / values),
    String(excess),
    String(harmless),
    percent(damaged / harmless),
    String(whole),
  ]);
  return renderColumns([header, ...lines]);
}

function renderShare(line: Line | undefined): string {
  if (line === undefined) return '–';
  const share = `${(line.share * 100).toFixed(1)} %`;
  return line.group === 'look-alikes' ? share : `${share} (${line.excess})`;
}

function renderColumns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const pad = (cell: string, column: number): string => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0));
  return rows.map((row) => row.map(pad).join('  ').trimEnd()).join('\n');
}
