// Which entries of a workspace one sidecar may hold. A process decides for any caller and holds everything. A library
// lives inside the agent: it holds no key hashes, its own key only, of the members those its key may name, and no address
// of a tool server.
import { type CompiledDocument, hasScope, isEntryKnown, loweredDocument, type Needs } from '@tollgate/proto/contract';
import type { SnapshotEntry } from './compile.ts';
import type { WorkspaceKey, WorkspaceServer } from './state.ts';

export type View = ({ readonly form: 'process' } | { readonly form: 'library'; readonly keyId: string }) & {
  /** Capabilities that policy may need and its sidecar has not; absent: none. */
  readonly lacks?: readonly string[];
};

/** A name for the view: sidecars with the same one hold the same bytes. */
export const viewKey = (view: View): string =>
  [view.form === 'process' ? 'process' : `library/${view.keyId}`, ...(view.lacks ?? [])].join(' ');

/** Entries are seen by part: a library sees some parts whole, and of others single entries. */
export type ViewPart = 'common' | 'people' | 'keys' | 'servers';

export function viewPartOf(key: string): ViewPart {
  if (key.startsWith('key/')) return 'keys';
  if (key.startsWith('server/')) return 'servers';
  return key.startsWith('member/') || key.startsWith('document/user:') ? 'people' : 'common';
}

/** Whether a library with that key may decide for anybody. */
export const seesPeople = (own: WorkspaceKey | undefined): boolean => own !== undefined && hasScope(own.scopes, 'govern.impersonate');

/** Of the people, those entries that any other library sees, whether or not there are such entries. */
export const ownPeople = (own: WorkspaceKey | undefined): readonly string[] =>
  own === undefined || own.uid === null
    ? []
    : [`member/${own.uid}`, ...['organisation', 'self'].map((part) => `document/user:${own.uid}:${part}`)];

/** A library calls no server: of those that ask for scopes, which; null: of this one nothing. */
export function serverForLibrary({ name, tools }: WorkspaceServer): SnapshotEntry | null {
  return tools.length === 0 ? null : { key: `server/${name}`, value: Buffer.from(JSON.stringify({ name, tools }), 'utf8') };
}

/** Its own key as a library holds it: it knows the secret, and there is no need for the hash. */
export function keyForLibrary(entry: SnapshotEntry, id: string): SnapshotEntry {
  const compiled: unknown = JSON.parse(entry.value.toString('utf8'));
  return {
    key: entry.key,
    value: Buffer.from(JSON.stringify({ ...(typeof compiled === 'object' ? compiled : {}), id, hash: '' }), 'utf8'),
  };
}

/** An entry for who lacks some capabilities; null: it is not sent. */
export function loweredEntry(entry: SnapshotEntry, lacks: ReadonlySet<string>, needs: Needs): SnapshotEntry | null {
  if (!isEntryKnown(entry.key, lacks, needs)) return null;
  if (!entry.key.startsWith('document/')) return entry;
  // Our own: `compileDocument` has written it.
  const document = JSON.parse(entry.value.toString('utf8')) as CompiledDocument;
  return { key: entry.key, value: Buffer.from(JSON.stringify(loweredDocument(document, lacks, needs)), 'utf8') };
}
