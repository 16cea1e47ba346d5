// Computes the differences between the stored documents of the organisation and the wanted documents: by document, and
// by the places in each document.
import { isDeepStrictEqual } from 'node:util';
import { childPath, type DocumentId, documentKey, hosts, keyedPath, layers } from '@tollgate/proto/contract';
import { isOfSet, type PolicyDocument, type StoredDocument, type WantedDocuments } from '@tollgate/sidecar/engine/compile';
import { isObject } from '@tollgate/proto/shape';

/** `before` or `after` is null if the document does not exist at that time. */
export interface DocumentChange {
  readonly id: DocumentId;
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument | null;
}

/** The changes that make `stored` equal to the wanted documents. Sorted from broad to specific, then by name. */
export function diffDocuments(
  stored: readonly StoredDocument[],
  { layers: wanted, documents }: WantedDocuments,
): readonly DocumentChange[] {
  const before = new Map(stored.filter((one) => isOfSet(one) && wanted.includes(one.id.layer)).map((one) => [documentKey(one.id), one]));
  const after = new Map(documents.filter(isOfSet).map((one) => [documentKey(one.id), one]));
  return [...new Map([...before, ...after])]
    .toSorted(([a, { id: one }], [b, { id: other }]) => layers.indexOf(one.layer) - layers.indexOf(other.layer) || (a < b ? -1 : 1))
    .map(([key, { id }]) => ({ id, before: before.get(key)?.document ?? null, after: after.get(key)?.document ?? null }))
    .filter((change) => changedPaths(change.before ?? undefined, change.after ?? undefined).length > 0);
}

/** A place whose value has changed. `before` or `after` is absent if there is no value at that time. */
export interface ChangedPath {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface ShownChange {
  readonly document: string;
  readonly action: ChangeAction;
  readonly paths: readonly ChangedPath[];
}

export type ChangeAction = 'create' | 'update' | 'delete';

export const actionOf = ({ before, after }: Pick<DocumentChange, 'before' | 'after'>): ChangeAction =>
  before === null ? 'create' : after === null ? 'delete' : 'update';

export const shownChange = (change: DocumentChange): ShownChange => ({
  document: documentKey(change.id),
  action: actionOf(change),
  paths: changedPaths(change.before ?? undefined, change.after ?? undefined),
});

/** Compares two documents value by value and returns the places that differ. `undefined`: there is no value. */
function changedPaths(before: unknown, after: unknown, path = ''): readonly ChangedPath[] {
  const keys = new Set([before, after].flatMap((side) => (isObject(side) ? Object.keys(side) : [])));
  const isBranch = [before, after].every((side) => side === undefined || isObject(side));
  if (isBranch && keys.size > 0) {
    return [...keys].flatMap((key) => changedPaths(valueAt(before, key), valueAt(after, key), pathTo(path, key)));
  }
  // A list is one value, because a new list replaces it completely.
  if (isDeepStrictEqual(before, after)) return [];
  return [{ path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

const valueAt = (side: unknown, key: string): unknown => (isObject(side) && Object.hasOwn(side, key) ? side[key] : undefined);

/**
 * Returns the path in the form that problems, reasons and entries also use: names of tools and agent types are always
 * in brackets.
 */
const pathTo = (path: string, key: string): string => (namedBy.has(path) ? keyedPath(path, key) : childPath(path, key));
const namedBy: ReadonlySet<string> = new Set([
  'tools',
  'agentTypes',
  'redaction.exceptions',
  ...hosts.map((host) => childPath('toolNames', host)),
]);
