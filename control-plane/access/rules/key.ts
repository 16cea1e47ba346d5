// Defines how a key is made, and what is stored of it. The key itself is shown once and never stored.
import { hashKey, nameProblem, type Tier } from '@tollgate/proto/contract';
import { problem, type Problem } from '@tollgate/proto/shape';
import { isInstant } from '../../base/instant.ts';

export interface KeyPins {
  readonly tier: Tier | null;
  readonly agent: string | null;
  readonly client: string | null;
}

/** Checks that calls can match the pins. Otherwise the key would be useless. */
export function checkPins({ agent, client }: Pick<KeyPins, 'agent' | 'client'>): readonly Problem[] {
  const wrongAgent = agent === null ? null : nameProblem(agent);
  const wrongClient = client === null ? null : (nameProblem(client) ?? (client.includes('::') ? 'must hold no "::"' : null));
  return [...(wrongAgent === null ? [] : problem('agent', wrongAgent)), ...(wrongClient === null ? [] : problem('client', wrongClient))];
}

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly last4: string;
  readonly scopes: readonly string[];
  /** The member that the key acts as; null for a service key. */
  readonly uid: string | null;
  readonly madeBy: string;
  readonly pins: KeyPins;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  readonly createdAt: Date;
}

/** Returns the requested number of random bytes. */
export type RandomBytes = (size: number) => Uint8Array;

export interface FreshSecret {
  readonly key: string;
  readonly hash: string;
  readonly last4: string;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const secretLength = 40;
const idLength = 20;
const idForm = /^[A-Za-z0-9]{20}$/;

/**
 * Returns random text in which each character is equally likely. To achieve this, a byte that is equal to `limit` or
 * greater is discarded.
 */
function randomText(random: RandomBytes, length: number): string {
  const limit = 256 - (256 % letters.length);
  let text = '';
  while (text.length < length) {
    for (const byte of random(length)) {
      if (byte < limit && text.length < length) text += letters.charAt(byte % letters.length);
    }
  }
  return text;
}

/** Whether a text has the form of an id. Texts without this form are not looked up. */
export const isId = (text: string): boolean => idForm.test(text);

export const makeId = (random: RandomBytes): string => randomText(random, idLength);

export function makeSecret(random: RandomBytes, slug: string): FreshSecret {
  return secretOf(`gsk_${slug}_${randomText(random, secretLength)}`);
}

export const secretOf = (key: string): FreshSecret => ({ key, hash: hashKey(key), last4: key.slice(-4) });

/** Returns the subject that a key acts as. */
export const subjectOf = (id: string, uid: string | null): string => uid ?? `apikey:${id}`;

/** Returns a personal key of an owner, with all scopes and without expiry. */
export const ownersKey = (
  id: string,
  name: string,
  { last4 }: FreshSecret,
  { uid, now }: { readonly uid: string; readonly now: Date },
): ApiKey => ({
  id,
  name,
  last4,
  scopes: ['*'],
  uid,
  madeBy: uid,
  pins: { tier: null, agent: null, client: null },
  expiresAt: null,
  revokedAt: null,
  createdAt: now,
});

/** The position of a key in the order "newest first". `id` decides between keys that were created at the same time. */
export type KeyPosition = Pick<ApiKey, 'createdAt' | 'id'>;

const cursorForm = /^(\d{1,15})\.([A-Za-z0-9]{20})$/;

export const keyCursorOf = ({ createdAt, id }: KeyPosition): string => Buffer.from(`${createdAt.getTime()}.${id}`).toString('base64url');

export function parseKeyCursor(cursor: string): KeyPosition | null {
  const [, ms, id] = cursorForm.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  return id === undefined || !isInstant(Number(ms)) ? null : { createdAt: new Date(Number(ms)), id };
}
