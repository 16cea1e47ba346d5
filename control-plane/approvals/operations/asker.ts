// Decides for which calls a sidecar may ask. It follows from its credential, never from a message.
import { type AskedCall, hasScope } from '@tollgate/proto/contract';
import type { Actor } from '../../access/rules/actor.ts';
import { onlySubOf } from '../../sidecars/rules/forms.ts';

export interface Asker {
  readonly workspaceId: number;
  /** The only key whose calls it may ask for; null: every key of the workspace. */
  readonly onlyKey: string | null;
  /** The only subject whose calls it may ask for; null: every subject. */
  readonly onlySub: string | null;
  /** The control plane itself asks, for its own runs. */
  readonly isLocal: boolean;
  /** Whose share of the memory for waiting messages it uses. */
  readonly owner: string;
}

export const askerOf = (actor: Actor): Asker => ({
  workspaceId: actor.workspaceId,
  onlyKey: hasScope(actor.scopes, 'sidecar.sync') ? null : actor.keyId,
  onlySub: onlySubOf(actor),
  isLocal: false,
  owner: actor.keyId,
});

/** The control plane asks for its own runs. */
export const localAsker = (workspaceId: number): Asker => ({
  workspaceId,
  onlyKey: null,
  onlySub: null,
  isLocal: true,
  owner: `runs of ${workspaceId}`,
});

/** Returns why this sidecar may not ask for the call; null: it may. */
export function mayAskFor({ onlyKey, onlySub }: Asker, { keyId, originSub }: Pick<AskedCall, 'keyId' | 'originSub'>): string | null {
  if (onlyKey !== null && keyId !== onlyKey) return 'call.key_id must be the key of this sidecar';
  return onlySub === null || originSub === onlySub ? null : 'call.origin_sub must be the subject of the key of this sidecar';
}
