// Finds keys with `sidecar.sync` that only libraries use. For these, `sidecar.library` is enough, and such a key is
// worth much less to a thief.
import { readAllSidecars } from './all-sidecars.ts';
import { type Row, rowsIn } from './answer.ts';
import type { Client } from './client.ts';
import { Failure } from '../failure.ts';

/** A sidecar stays listed for a week after it has disconnected. */
export interface LibraryKey {
  readonly id: string;
  readonly name: string;
}

/** `keys`: the answer of `keys list`. The result is empty if the caller must not read the sidecars. */
export async function findLibraryKeys(client: Client, keys: readonly Row[]): Promise<readonly LibraryKey[]> {
  const answer = await readAllSidecars(client).catch((error: unknown) => {
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
 * Checks the workspace that this machine is configured for. The result is empty without such a workspace, or if the key
 * lacks permission to list keys.
 */
export async function libraryKeysHere(connect: () => Promise<Client>): Promise<readonly LibraryKey[]> {
  try {
    const client = await connect();
    return await findLibraryKeys(client, rowsIn(await client.ask('GET', '/{workspace}/admin/keys'), 'keys'));
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

export const libraryKeyWords = ({ id, name }: LibraryKey): string =>
  `key ${id} (${name}) is used only by libraries and has more scopes than they need; run: tollgate keys narrow ${id}`;
