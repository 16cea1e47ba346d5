// One call, as the API answers about it.
import { ApiError, type Schemas } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';
import type { Outcome } from '../parts/outcome.tsx';

export type Entry = Schemas['AuditEntry'];
export type Explanation = paths['/{workspace}/admin/explain']['post']['responses']['200']['content']['application/json'];
export type Layer = Explanation['layers'][number];
export type LayerName = Layer['layer'];
export type Remedy = Explanation['remedies'][number];
export type Change = Explanation['wouldAllow'][number][number];

export interface SessionCall {
  readonly requestId: string;
  readonly agent: string;
  /** From the root to the caller. */
  readonly chain: readonly string[];
  readonly tool: string;
  readonly outcome: Outcome;
  readonly ts: string;
}

export interface CallAnswer {
  readonly requestId: string;
  readonly before: Entry | null;
  readonly after: Entry | null;
  /** Further entries of the same request id. */
  readonly more: number;
  /** How the call is decided by the revision of its entry. */
  readonly explanation: Explanation | null;
  readonly explainedAt: { readonly revision: number; readonly isCurrent: boolean } | null;
  /** Why there is no explanation. */
  readonly unexplained: string | null;
  readonly approval: Schemas['Approval'] | null;
  /** `url`: null: no address of traces is configured. */
  readonly trace: { readonly traceId: string; readonly url: string | null } | null;
  /** Null: the entry names no session, or the reader may not see it. */
  readonly session: { readonly calls: readonly SessionCall[]; readonly more: boolean } | null;
}

/** `at`: the time of the entry, which makes the request faster. */
export async function fetchCall(workspace: string, requestId: string, at: string | null): Promise<CallAnswer> {
  const query = at === null ? '' : `?${new URLSearchParams({ at }).toString()}`;
  const response = await fetch(`/${workspace}/admin/calls/${encodeURIComponent(requestId)}${query}`).catch((error: unknown) => {
    throw new ApiError(0, `The control plane does not answer (${error instanceof Error ? error.message : String(error)}).`);
  });
  const body = (await response.json().catch(() => null)) as (CallAnswer & { readonly error?: string }) | null;
  if (response.ok && body !== null) return body;
  throw new ApiError(response.status, body?.error ?? `The control plane answered ${response.status}.`);
}
