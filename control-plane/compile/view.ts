// Which entries of a workspace one sidecar may hold. A process decides for any caller and holds everything. A library
// lives inside the agent: it holds no key hashes, its own key only, and of the members those its key may name.
import { hasScope } from '@tollgate/proto/contract';
import type { SnapshotEntry } from './compile.ts';
import type { WorkspaceKey, WorkspaceState } from './state.ts';

export type View = { readonly form: 'process' } | { readonly form: 'library'; readonly keyId: string };

/** A name for the view: sidecars with the same one hold the same bytes. */
export const viewKey = (view: View): string => (view.form === 'process' ? 'process' : `library/${view.keyId}`);

export function viewOf(entries: readonly SnapshotEntry[], state: WorkspaceState, view: View): readonly SnapshotEntry[] {
  if (view.form === 'process') return entries;
  const own = state.keys.find(({ id }) => id === view.keyId);
  const mayNameOthers = own !== undefined && hasScope(own.scopes, 'govern.impersonate');
  const visible = (key: string): boolean => {
    if (key.startsWith('key/')) return own !== undefined && key === `key/${own.id}`;
    if (mayNameOthers) return true;
    if (key.startsWith('member/')) return key === `member/${own?.uid}`;
    if (key.startsWith('document/user:'))
      return own?.uid != null && ['organisation', 'self'].some((part) => key === `document/user:${own.uid}:${part}`);
    return true;
  };
  return entries
    .filter(({ key }) => visible(key))
    .map((entry) => (own !== undefined && entry.key === `key/${own.id}` ? withoutHash(entry, own) : entry));
}

function withoutHash(entry: SnapshotEntry, key: WorkspaceKey): SnapshotEntry {
  const compiled: unknown = JSON.parse(entry.value.toString('utf8'));
  return {
    key: entry.key,
    value: Buffer.from(JSON.stringify({ ...(typeof compiled === 'object' ? compiled : {}), id: key.id, hash: '' }), 'utf8'),
  };
}
