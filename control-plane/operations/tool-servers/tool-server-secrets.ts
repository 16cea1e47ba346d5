// The secrets of a tool server on their way into the database and out of it. They are bound to their workspace and to
// the server's name, so that a row moved elsewhere opens nowhere.
import { badRequest, conflict } from '../../domain/refusal.ts';
import { isObject } from '../../domain/shape.ts';
import type { Secrets } from '../../domain/tool-servers/tool-server.ts';
import type { Deps } from '../operation.ts';

const placeOf = (workspaceId: number, name: string): string => `tool-server/${workspaceId}/${name}`;

/** Null where there are none. */
export function sealSecrets({ sealer }: Pick<Deps, 'sealer'>, workspaceId: number, name: string, secrets: Secrets): Uint8Array | null {
  if (Object.keys(secrets).length === 0) return null;
  if (sealer === null)
    throw badRequest('headers and env are kept encrypted, and this control plane has no key for that: set TOLLGATE_SECRET_KEY');
  return sealer.seal(JSON.stringify(secrets), placeOf(workspaceId, name));
}

export function openSecrets({ sealer }: Pick<Deps, 'sealer'>, workspaceId: number, name: string, sealed: Uint8Array | null): Secrets {
  if (sealed === null) return {};
  const text = sealer?.open(sealed, placeOf(workspaceId, name)) ?? null;
  if (text === null)
    throw conflict(
      'its headers or env cannot be decrypted: TOLLGATE_SECRET_KEY is not the one they were kept under; delete the server and register it again',
    );
  const secrets: unknown = JSON.parse(text);
  if (!isObject(secrets)) throw new Error('sealed secrets are no object');
  return Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, String(value)]));
}
