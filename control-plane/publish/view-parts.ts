// Builds the content of a workspace for the sidecars of one view from the parts of the workspace. The hash and the size
// are computed from those of the parts, without reading every entry.
import { isEntryKnown, type Needs, policyNeeds, snapshotHash, snapshotHashOfParts } from '@tollgate/proto/contract';
import { byKey, type SnapshotEntry } from '@tollgate/sidecar/engine/compile';
import { keyForLibrary, loweredEntry, ownPeople, seesPeople, type View, viewPartOf } from './view.ts';
import { wireBytes } from './entry-set.ts';
import type { HeldWorkspace } from './holding.ts';

export interface ViewParts {
  readonly hash: Buffer;
  /** Approximate size of all entries in a message. */
  readonly bytes: number;
  /** All entries, sorted by key. */
  entries(): readonly SnapshotEntry[];
  /** Whether the view can contain an entry with that key. */
  mayHold(key: string): boolean;
  get(key: string): SnapshotEntry | undefined;
  /** The key of an entry that decides which other entries the view contains; null: there is no such entry. */
  readonly decisive: string | null;
}

type Part = HeldWorkspace['parts']['common'];

export function viewPartsOf(holding: HeldWorkspace, view: View, needs = policyNeeds): ViewParts {
  const parts = view.form === 'process' ? processParts(holding) : libraryParts(holding, view.keyId);
  const { lacks = [] } = view;
  return lacks.length === 0 ? parts : loweredParts(parts, new Set(lacks), needs);
}

/**
 * Returns the view for sidecars of an older version, which lack some capabilities. Such sidecars are rare, so their
 * view is built from all entries at each revision.
 */
function loweredParts(parts: ViewParts, lacks: ReadonlySet<string>, needs: Needs): ViewParts {
  const entries = parts.entries().flatMap((entry) => loweredEntry(entry, lacks, needs) ?? []);
  const byName = new Map(entries.map((entry) => [entry.key, entry]));
  return {
    hash: snapshotHash(entries),
    bytes: entries.reduce((sum, entry) => sum + wireBytes(entry), 0),
    entries: () => entries,
    mayHold: (key) => parts.mayHold(key) && isEntryKnown(key, lacks, needs),
    get: (key) => byName.get(key),
    decisive: parts.decisive,
  };
}

function processParts({ parts: { common, people, keys, servers } }: HeldWorkspace): ViewParts {
  const parts = { common, people, keys, servers };
  return {
    ...whole([common, people, keys, servers], []),
    mayHold: () => true,
    get: (key) => parts[viewPartOf(key)].entries.get(key),
    decisive: null,
  };
}

function libraryParts(holding: HeldWorkspace, keyId: string): ViewParts {
  const { common, people, keys, serversForLibrary } = holding.parts;
  const own = holding.keyOf(keyId);
  const seesAll = seesPeople(own);
  const ownKey = `key/${keyId}`;
  const compiled = own === undefined ? undefined : keys.entries.get(ownKey);
  const single = [
    ...(compiled === undefined ? [] : [keyForLibrary(compiled, keyId)]),
    ...(seesAll ? [] : ownPeople(own).flatMap((key) => people.entries.get(key) ?? [])),
  ];
  const singles = new Map(single.map((entry) => [entry.key, entry]));
  const partOf = (key: string): Part | null => {
    switch (viewPartOf(key)) {
      case 'common':
        return common;
      case 'servers':
        return serversForLibrary;
      case 'people':
        return seesAll ? people : null;
      case 'keys':
        return null;
    }
  };
  const ownOnes = new Set([ownKey, ...ownPeople(own)]);
  return {
    ...whole([common, serversForLibrary, ...(seesAll ? [people] : [])], single),
    mayHold: (key) => partOf(key) !== null || ownOnes.has(key),
    get: (key) => partOf(key)?.entries.get(key) ?? singles.get(key),
    decisive: ownKey,
  };
}

function whole(parts: readonly Part[], single: readonly SnapshotEntry[]): Pick<ViewParts, 'hash' | 'bytes' | 'entries'> {
  return {
    hash: snapshotHashOfParts([...parts.map(({ hash }) => hash), snapshotHash(single)]),
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0) + single.reduce((sum, entry) => sum + wireBytes(entry), 0),
    entries: () => [...parts.flatMap(({ entries }) => [...entries.values()]), ...single].sort(byKey),
  };
}
