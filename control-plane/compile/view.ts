// Which entries of a workspace one sidecar may hold. A process decides for any caller and holds everything. A library
// lives inside the agent: it holds no key hashes, its own key only, of the members those its key may name, and no address
// of a tool server.
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
    .flatMap((entry) => {
      if (own !== undefined && entry.key === `key/${own.id}`) return [withoutHash(entry, own)];
      return entry.key.startsWith('server/') ? ofServer(entry, state) : [entry];
    });
}

/** It calls no server: of those that ask for scopes, which. */
function ofServer({ key }: SnapshotEntry, { servers }: WorkspaceState): readonly SnapshotEntry[] {
  const server = servers.find(({ name }) => key === `server/${name}`);
  if (server === undefined || server.tools.length === 0) return [];
  const { name, tools } = server;
  return [{ key, value: Buffer.from(JSON.stringify({ name, tools }), 'utf8') }];
}

function withoutHash(entry: SnapshotEntry, key: WorkspaceKey): SnapshotEntry {
  const compiled: unknown = JSON.parse(entry.value.toString('utf8'));
  return {
    key: entry.key,
    value: Buffer.from(JSON.stringify({ ...(typeof compiled === 'object' ? compiled : {}), id: key.id, hash: '' }), 'utf8'),
  };
}
