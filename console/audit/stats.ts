// Counts of decisions over time, as the API answers about them.
import { ApiError } from '../api/client.ts';

export interface DecisionCounts {
  readonly every: 'minute' | 'hour' | 'day';
  readonly since: string;
  readonly until: string;
  readonly total: number;
  readonly groups: readonly {
    readonly value: string;
    readonly total: number;
    readonly lastAt: string;
    readonly counts: readonly { readonly at: string; readonly count: number }[];
  }[];
}

/** The counts by outcome. `query`: filters, since and until. */
export async function fetchCounts(workspace: string, query: Readonly<Record<string, string>>): Promise<DecisionCounts> {
  const search = new URLSearchParams({ by: 'outcome', ...query }).toString();
  const response = await fetch(`/${workspace}/admin/stats/decisions?${search}`).catch((error: unknown) => {
    throw new ApiError(0, `The control plane does not answer (${error instanceof Error ? error.message : String(error)}).`);
  });
  const body = (await response.json().catch(() => null)) as (DecisionCounts & { readonly error?: string }) | null;
  if (response.ok && body !== null) return body;
  throw new ApiError(response.status, body?.error ?? `The control plane answered ${response.status}.`);
}
