// Finds keys that have the scope `sidecar.sync` although only libraries use them. For libraries the scope
// `sidecar.library` is enough, and a stolen key with that scope is much less useful.
import { readAllPages } from './all-pages.ts';
import { type Row, rowsIn } from './answer.ts';
import type { Client } from './client.ts';
import { Failure } from '../failure.ts';

/**
 * A key that only libraries use. The list of sidecars shows this: a sidecar stays in the list for a week after it has
 * disconnected.
 */
export interface LibraryKey {
  readonly id: string;
  readonly name: string;
}

/** `keys`: the answer of `keys list`. The result is empty if the sidecars cannot be read. */
export async function findLibraryKeys(client: Client, keys: readonly Row[]): Promise<readonly LibraryKey[]> {
  const answer = await readAllPages(client, '/{workspace}/admin/sidecars', 'sidecars').catch((error: unknown) => {
    if (error instanceof Failure) return { sidecars: [] };
    throw error;
  });
  const sidecars = rowsIn(answer, 'sidecars');
  const formsOf = (id: unknown): readonly unknown[] => sidecars.filter(({ keyId }) => keyId === id).map(({ form }) => form);
  return keys.flatMap(({ id, name, scopes, revokedAt }) => {
    const forms = formsOf(id);
    const isBroad = Array.isArray(scopes) && scopes.includes('sidecar.sync') && revokedAt === null;
    return isBroad && forms.length > 0 && forms.every((form) => form === 'library') ? [{ id: String(id), name: String(name) }] : [];
  });
}

/**
 * Finds the keys that only libraries use, in the workspace that this machine is configured for. The result is empty if
 * there is no such workspace, or if its keys cannot be listed.
 */
export async function libraryKeysHere(connect: () => Promise<Client>): Promise<readonly LibraryKey[]> {
  try {
    const client = await connect();
    return await findLibraryKeys(client, rowsIn(await readAllPages(client, '/{workspace}/admin/keys', 'keys'), 'keys'));
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

export const libraryKeyWords = ({ id, name }: LibraryKey): string =>
  `key ${id} (${name}) is used only by libraries and has more scopes than they need; run: tollgate keys narrow ${id}`;
