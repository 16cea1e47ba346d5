// The public key of a control plane that has signed checkpoints, and the cursor that carries its position in the list of
// all such keys from page to page.
import { isInstant } from '../../base/instant.ts';

export interface SigningKey {
  /** Raw Ed25519, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** When it signed its first checkpoint. */
  readonly since: Date;
}

const cursorForm = /^(\d{1,15})\.([0-9a-f]{64})$/;

/** The order is "oldest first". The bytes of the key decide between keys of the same time. */
export const signingKeyCursorOf = ({ publicKey, since }: SigningKey): string =>
  Buffer.from(`${since.getTime()}.${Buffer.from(publicKey).toString('hex')}`).toString('base64url');

export function parseSigningKeyCursor(cursor: string): SigningKey | null {
  const [, ms, hex] = cursorForm.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  return hex === undefined || !isInstant(Number(ms)) ? null : { publicKey: Buffer.from(hex, 'hex'), since: new Date(Number(ms)) };
}
