// What the scopes of a key say of the sidecars that it serves. Pure.
import { hasScope } from '@tollgate/proto/contract';

export type Form = 'process' | 'library';

interface Scoped {
  readonly scopes: readonly string[];
}

/** A process decides for every caller, and holds the hashes of all keys; a library lives inside one agent. */
export const mayServe = ({ scopes }: Scoped, form: Form): boolean =>
  hasScope(scopes, form === 'process' ? 'sidecar.sync' : 'sidecar.library');

/** The only subject that its sidecars may speak for; null: any. */
export const onlySubOf = ({ scopes, sub }: Scoped & { readonly sub: string }): string | null =>
  hasScope(scopes, 'sidecar.sync') || hasScope(scopes, 'govern.impersonate') ? null : sub;
