// Reads sidecars, and finds those that a newer process has replaced.
import { serverNow } from '../api/clock.ts';
import { type Api, read } from '../api/client.ts';
import type { paths } from '../api/schema.d.ts';

type List = paths['/{workspace}/admin/sidecars']['get'];
type Answer = List['responses']['200']['content']['application/json'];

export interface Sidecar extends Readonly<Answer['sidecars'][number]> {
  /** ISO 8601: when the first revision that it does not hold was made. Null: it is not behind. */
  readonly behindSince: string | null;
}

export interface SidecarPage extends Omit<Answer, 'sidecars'> {
  readonly sidecars: readonly Sidecar[];
}

/** The instant is computed when the answer arrives, so that it stays the same while a page shows the answer. */
export async function readSidecars(api: Api, workspace: string, query: List['parameters']['query'] = {}): Promise<SidecarPage> {
  const answer = await read(api.GET('/{workspace}/admin/sidecars', { params: { path: { workspace }, query } }));
  const now = serverNow();
  return { ...answer, sidecars: answer.sidecars.map((one) => ({ ...one, behindSince: behindSince(one, now) })) };
}

const behindSince = ({ lag }: Pick<Sidecar, 'lag'>, now: number): string | null =>
  lag === null || lag.revisions === 0 ? null : new Date(now - lag.seconds * 1_000).toISOString();

type Named = Pick<Sidecar, 'id' | 'form' | 'connected' | 'connectedSince' | 'lastSeen'>;

/** A process may be seen for this long after the one that replaces it has connected: a restart may overlap. */
const overlapMs = 15_000;

/**
 * Divides sidecars into the current ones and those that have ended and were replaced: one of the same name and form
 * connected later than they did, and at their end or after it. The end of such a one is no outage.
 */
export function divide<T extends Named>(all: readonly T[]): { readonly current: readonly T[]; readonly replaced: readonly T[] } {
  const connected = new Map<string, number>();
  const nameOf = ({ id, form }: Named): string => `${form} ${id}`;
  for (const one of all) connected.set(nameOf(one), Math.max(Date.parse(one.connectedSince), connected.get(nameOf(one)) ?? 0));
  const isReplaced = (one: T): boolean => {
    const last = connected.get(nameOf(one)) ?? 0;
    return !one.connected && last > Date.parse(one.connectedSince) && last >= Date.parse(one.lastSeen) - overlapMs;
  };
  return { current: all.filter((one) => !isReplaced(one)), replaced: all.filter(isReplaced) };
}
