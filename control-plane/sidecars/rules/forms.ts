// Decides, from the scopes of a key, which forms of sidecar can use the key, and for which subject. Pure.
import { hasScope } from '@tollgate/proto/contract';

export type Form = 'process' | 'library';

interface KeyScopes {
  readonly scopes: readonly string[];
}

/**
 * Returns whether a sidecar of this form can use the key. The two forms need different scopes: a `process` decides for
 * every caller and holds the hashes of all keys, but a `library` is part of one agent.
 */
export const mayServe = ({ scopes }: KeyScopes, form: Form): boolean =>
  hasScope(scopes, form === 'process' ? 'sidecar.sync' : 'sidecar.library');

/** Returns the only subject for which sidecars with this key can act. Null: they can act for any subject. */
export const onlySubOf = ({ scopes, sub }: KeyScopes & { readonly sub: string }): string | null =>
  hasScope(scopes, 'sidecar.sync') || hasScope(scopes, 'govern.impersonate') ? null : sub;
