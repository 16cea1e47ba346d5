// Derives from the scopes of a key which sidecars can use it. Pure.
import { hasScope } from '@tollgate/proto/contract';

export type Form = 'process' | 'library';

interface KeyScopes {
  readonly scopes: readonly string[];
}

/** A process decides for every caller, and holds the hashes of all keys. A library is part of one agent. */
export const mayServe = ({ scopes }: KeyScopes, form: Form): boolean =>
  hasScope(scopes, form === 'process' ? 'sidecar.sync' : 'sidecar.library');

/** The only subject for which its sidecars can act; null: any. */
export const onlySubOf = ({ scopes, sub }: KeyScopes & { readonly sub: string }): string | null =>
  hasScope(scopes, 'sidecar.sync') || hasScope(scopes, 'govern.impersonate') ? null : sub;
