// Encrypts and decrypts the secrets of a tool server for storage. The secrets are bound to their workspace and to the
// server's name and address. If a row is moved to another workspace, or gets another name or address, its secrets can
// no longer be decrypted.

import { badRequest, conflict } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';
import type { Secrets, Target } from '../rules/tool-server.ts';
import type { OperationDeps } from '../../access/operation.ts';

interface Place {
  readonly workspaceId: number;
  readonly name: string;
  readonly target: Target;
}

/**
 * Returns the context to which the secrets are bound. It is JSON, so two different contexts never have the same text.
 */
export function toolServerPlace({ workspaceId, name, target }: Place): string {
  const where = target.kind === 'url' ? [target.url] : [target.program, target.args];
  return JSON.stringify(['tool-server', workspaceId, name, target.kind, ...where]);
}

/** Returns the encrypted secrets. Null: there are no secrets. */
export function sealSecrets({ sealer }: Pick<OperationDeps, 'sealer'>, place: Place, secrets: Secrets): Uint8Array | null {
  if (Object.keys(secrets).length === 0) return null;
  if (sealer === null)
    throw badRequest('headers and env are stored encrypted, but this control plane has no key for that: set TOLLGATE_SECRET_KEY');
  return sealer.seal(JSON.stringify(secrets), toolServerPlace(place));
}

export function openSecrets({ sealer }: Pick<OperationDeps, 'sealer'>, place: Place, sealed: Uint8Array | null): Secrets {
  if (sealed === null) return {};
  const text = sealer?.open(sealed, toolServerPlace(place)) ?? null;
  if (text === null)
    throw conflict(
      'its headers or env cannot be decrypted: they were encrypted with a different TOLLGATE_SECRET_KEY, or its row was changed; add the former key after the new one, or delete the server and register it again',
    );
  const secrets: unknown = JSON.parse(text);
  if (!isObject(secrets)) throw new Error('the decrypted secrets of a tool server must be a JSON object');
  return Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, String(value)]));
}
