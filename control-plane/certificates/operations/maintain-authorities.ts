// Reads the authorities that all control planes of a database share. If a new authority is due, the first control plane
// that notices adds it.

import {
  aliveAt,
  type Authority,
  fingerprint,
  type DatedAuthority,
  lifeOf,
  needsNew,
  newAuthority,
  signerOf,
  type Terms,
} from '../x509/authorities.ts';
import { deleteExpiredAuthorities, insertAuthority, listAuthorities, lockAuthorities, type StoredAuthority } from '../store.ts';
import type { Sealer } from '../../tool-servers/store/sealed.ts';
import { inTransaction } from '../../database/transaction.ts';
import type { OperationDeps } from '../../access/operation.ts';

type MaintainAuthoritiesDeps = Pick<OperationDeps, 'pool' | 'clock'> & { readonly sealer: Sealer };

/** Returns the authorities that are valid now, the oldest first, and the one that signs now. */
export async function maintainAuthorities(
  deps: MaintainAuthoritiesDeps,
  terms: Terms,
): Promise<{ readonly authorities: readonly DatedAuthority[]; readonly signer: Authority }> {
  const now = deps.clock();
  const found = aliveAt(await listAuthorities(deps.pool), now);
  const authorities = needsNew(found, now) ? await addAuthority(deps, terms, now) : found;
  return { authorities, signer: opened(deps, signerOf(authorities, { now, terms })) };
}

/**
 * Adds an authority. If another control plane has added an authority while this control plane waited for the lock, adds
 * none.
 */
async function addAuthority({ pool, sealer }: MaintainAuthoritiesDeps, terms: Terms, now: Date): Promise<readonly StoredAuthority[]> {
  return inTransaction(pool, async (client) => {
    await lockAuthorities(client);
    const found = aliveAt(await listAuthorities(client), now);
    if (!needsNew(found, now)) return found;
    const { key, ...made } = newAuthority('Tollgate', { now, terms });
    const stored = { ...made, sealedKey: sealer.seal(key, authorityPlace(made)) };
    await insertAuthority(client, { ...stored, expiresAt: new Date(lifeOf(made).until) });
    await deleteExpiredAuthorities(client, now);
    return [...found, stored];
  });
}

function opened({ sealer }: MaintainAuthoritiesDeps, { certificate, madeAt, sealedKey }: StoredAuthority): Authority {
  const key = sealer.open(sealedKey, authorityPlace({ certificate }));
  if (key === null)
    throw new Error(
      'the private key of the authority cannot be decrypted: it was encrypted with a different TOLLGATE_SECRET_KEY, or its row was changed. Set TOLLGATE_SECRET_KEY to the former key, alone or after the new key. Otherwise, delete the rows of the table "authority", and give every sidecar the new output of `tollgate ca`',
    );
  return { certificate, madeAt, key };
}

/** Returns the context to which the sealed key of the authority is bound. */
export const authorityPlace = (authority: { readonly certificate: string }): string =>
  JSON.stringify(['authority', fingerprint(authority)]);
