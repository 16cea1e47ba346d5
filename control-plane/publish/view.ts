// Determines which entries of a workspace one sidecar can hold. A sidecar that is a process of its own decides for any
// caller and holds everything. A sidecar that is a library is part of the agent. It holds only its own key and no hash
// of a key, only the members that its key can name, and no address of a tool server.
import { type CompiledDocument, type CompiledServer, hasScope, isEntryKnown, loweredDocument, type Needs } from '@tollgate/proto/contract';
import type { SnapshotEntry, WorkspaceKey } from '@tollgate/sidecar/engine/compile';

export type View = ({ readonly form: 'process' } | { readonly form: 'library'; readonly keyId: string }) & {
  /** Capabilities that policy can need and that the sidecar lacks; absent: it lacks none. */
  readonly lacks?: readonly string[];
};

/** Returns a name for the view. Sidecars whose views have the same name hold the same bytes. */
export const viewKey = (view: View): string =>
  [view.form === 'process' ? 'process' : `library/${view.keyId}`, ...(view.lacks ?? [])].join(' ');

/**
 * The entries of a workspace are divided into parts. A library sees some parts completely, and only single entries of
 * other parts.
 */
export type ViewPart = 'common' | 'people' | 'keys' | 'servers';

export function viewPartOf(key: string): ViewPart {
  if (key.startsWith('key/')) return 'keys';
  if (key.startsWith('server/')) return 'servers';
  return key.startsWith('member/') || key.startsWith('document/user:') ? 'people' : 'common';
}

/** Whether a library with that key can decide for any subject. */
export const seesPeople = (own: WorkspaceKey | undefined): boolean => own !== undefined && hasScope(own.scopes, 'govern.impersonate');

/**
 * Returns keys of entries: of those entries about people that a library sees if `seesPeople` is false. These entries
 * need not exist.
 */
export const ownPeople = (own: WorkspaceKey | undefined): readonly string[] =>
  own === undefined || own.uid === null
    ? []
    : [`member/${own.uid}`, ...['organisation', 'self'].map((part) => `document/user:${own.uid}:${part}`)];

/**
 * Returns the entry of a server for a library. A library calls no server, so it sees only what decisions depend on: the
 * server's name, the tools that require scopes, and the hints.
 */
export function serverForLibrary({ name, tools, hints = [] }: CompiledServer): SnapshotEntry {
  const value = { name, tools, ...(hints.length === 0 ? {} : { hints }) };
  return { key: `server/${name}`, value: Buffer.from(JSON.stringify(value), 'utf8') };
}

/** Returns the library's own key without its hash. The library knows the secret and does not need the hash. */
export function keyForLibrary(entry: SnapshotEntry, id: string): SnapshotEntry {
  const compiled: unknown = JSON.parse(entry.value.toString('utf8'));
  return {
    key: entry.key,
    value: Buffer.from(JSON.stringify({ ...(typeof compiled === 'object' ? compiled : {}), id, hash: '' }), 'utf8'),
  };
}

/** Returns the entry in the form for a sidecar that lacks some capabilities; null: the entry is not sent. */
export function loweredEntry(entry: SnapshotEntry, lacks: ReadonlySet<string>, needs: Needs): SnapshotEntry | null {
  if (!isEntryKnown(entry.key, lacks, needs)) return null;
  if (!entry.key.startsWith('document/')) return entry;
  // `compileDocument` has written this document, so its type is known.
  const document = JSON.parse(entry.value.toString('utf8')) as CompiledDocument;
  return { key: entry.key, value: Buffer.from(JSON.stringify(loweredDocument(document, lacks, needs)), 'utf8') };
}
