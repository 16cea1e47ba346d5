// Parses the body of `POST …/admin/simulate`: a draft of the organisation's documents, and the range of recorded calls
// to decide again with it.
import { instantWords, parseInstant } from '../../base/instant.ts';
import { parsePolicySet, type StoredDocument, type WantedDocuments } from '@tollgate/sidecar/engine/compile';
import { type Checked, problem, type Problem } from '@tollgate/proto/shape';

export interface SimulationQuestion {
  readonly wanted: WantedDocuments;
  /** The range of recorded calls. `since` and `until` are both inclusive. */
  readonly since: Date;
  readonly until: Date;
  /** The maximum number of entries of the range that are decided again. */
  readonly limit: number;
}

const dayMs = 24 * 3_600_000;
export const simulationLimits = { standard: 100_000, max: 1_000_000 } as const;

/** A `limit` that is out of range is set to the nearest allowed value. Any other error is reported as a problem. */
export function parseSimulation(body: Readonly<Record<string, unknown>>, now: Date): Checked<SimulationQuestion> {
  const { since, until, limit = simulationLimits.standard, ...sections } = body;
  const from = instantOf(since, new Date(now.getTime() - dayMs));
  const to = instantOf(until, now);
  const wanted = parsePolicySet(sections);
  const problems: readonly Problem[] = [
    ...('problems' in wanted ? wanted.problems : []),
    ...(from === null ? problem('since', instantWords) : []),
    ...(to === null ? problem('until', instantWords) : []),
    ...(from !== null && to !== null && from > to ? problem('since', 'must not be later than the value of "until"') : []),
    ...(Number.isInteger(limit) ? [] : problem('limit', 'must be an integer')),
  ];
  if ('problems' in wanted || from === null || to === null || problems.length > 0) return { problems };
  return { value: { wanted: wanted.value, since: from, until: to, limit: Math.min(Math.max(Number(limit), 1), simulationLimits.max) } };
}

function instantOf(value: unknown, otherwise: Date): Date | null {
  if (value === undefined) return otherwise;
  return typeof value === 'string' ? parseInstant(value) : null;
}

/**
 * Returns the documents as they would be with the draft. A layer that the draft contains replaces the stored layer,
 * except the parts that members wrote about themselves.
 */
export const draftedDocuments = (stored: readonly StoredDocument[], { layers, documents }: WantedDocuments): readonly StoredDocument[] => [
  ...stored.filter(({ id }) => !layers.includes(id.layer) || (id.layer === 'user' && id.part === 'self')),
  ...documents,
];
