// Derives the keys of approvals from one secret of the database: one key binds a call to its approval, the other seals
// what is not shown. The secret never leaves the control plane. It is encrypted with the first key of TOLLGATE_SECRET_KEY
// if there is one.
import { createHmac, hkdfSync } from 'node:crypto';
import { AppError, type AskedCall, canonicalJson } from '@tollgate/proto/contract';
import type pg from 'pg';
import type { RandomBytes } from '../../access/rules/key.ts';
import { createSealer, type Sealer } from '../../tool-servers/store/sealed.ts';
import type { ApprovalRef } from '../rules/approval.ts';
import { readSecret, replaceSecret, type StoredSecret } from '../store/secret.ts';

const secretBytes = 32;
/** The context to which the sealed secret is bound. */
export const secretPlace = 'approval secret';

interface SecretDeps {
  readonly pool: pg.Pool;
  readonly random: RandomBytes;
  /** Null: there is no TOLLGATE_SECRET_KEY. */
  readonly sealer: Sealer | null;
}

export interface ApprovalKeys {
  /** Returns the HMAC-SHA-256 that binds an approval to exactly this call. */
  callHmac(call: AskedCall): Uint8Array;
  /** Seals a text for one approval. */
  seal(ref: ApprovalRef, text: string): Uint8Array;
  /** Null: it was not sealed with this key or not for this approval, or was changed. */
  open(ref: ApprovalRef, sealed: Uint8Array): string | null;
  /** Seals a text for another place than an approval. Its name must begin with another word than `approval`. */
  sealAt(place: string, text: string): Uint8Array;
  /** As `open`, for a place. */
  openAt(place: string, sealed: Uint8Array): string | null;
}

/**
 * Returns the keys. They are derived again only if the stored secret has changed, for example by a restore. Throws
 * `unavailable` if the secret cannot be decrypted.
 */
export type ReadApprovalKeys = () => Promise<ApprovalKeys>;

export function createApprovalKeys(deps: SecretDeps): ReadApprovalKeys {
  let known: { readonly stored: Uint8Array; readonly keys: ApprovalKeys } | null = null;
  return async () => {
    const stored = await currentSecret(deps);
    if (known === null || !Buffer.from(known.stored).equals(stored.secret))
      known = { stored: stored.secret, keys: derive(openSecret(deps.sealer, stored), deps.random) };
    return known.keys;
  };
}

/** Returns the stored secret. Makes it if there is none, and encrypts it if there is a key for that now. */
async function currentSecret({ pool, random, sealer }: SecretDeps): Promise<StoredSecret> {
  const stored = await readSecret(pool);
  if (stored !== null && (stored.isSealed || sealer === null)) return stored;
  const secret = stored?.secret ?? random(secretBytes);
  const wanted: StoredSecret =
    sealer === null
      ? { secret, isSealed: false }
      : { secret: sealer.seal(Buffer.from(secret).toString('base64'), secretPlace), isSealed: true };
  // If another process was first, its secret is the one that counts.
  if (await replaceSecret(pool, stored?.secret ?? null, wanted)) return wanted;
  return (await readSecret(pool)) ?? noSecret();
}

function noSecret(): never {
  throw new Error('the secret of approvals must be stored after another process has made it, but there is none');
}

function openSecret(sealer: Sealer | null, { secret, isSealed }: StoredSecret): Uint8Array {
  if (!isSealed) return secret;
  const opened = sealer?.open(secret, secretPlace) ?? null;
  if (opened !== null) return Buffer.from(opened, 'base64');
  const why = sealer === null ? 'which is not set' : 'and no key of it decrypts the secret';
  throw new AppError({
    code: 'unavailable',
    publicMessage: `the secret of approvals is encrypted with TOLLGATE_SECRET_KEY, ${why}; the operator must restore that key`,
  });
}

function derive(secret: Uint8Array, random: RandomBytes): ApprovalKeys {
  const hmacKey = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate approved calls', 32));
  const sealer = createSealer([Buffer.from(secret).toString('base64')], random);
  return {
    callHmac: (call) =>
      createHmac('sha256', hmacKey)
        .update(canonicalJson(boundParts(call)))
        .digest(),
    seal: (ref, text) => sealer.seal(text, placeOf(ref)),
    open: (ref, sealed) => sealer.open(sealed, placeOf(ref)),
    sealAt: (place, text) => sealer.seal(text, place),
    openAt: (place, sealed) => sealer.open(sealed, place),
  };
}

const placeOf = ({ workspaceId, id }: ApprovalRef): string => `approval ${workspaceId} ${id}`;

/** Everything that must be equal for a call to be the same call. The order of the rules means nothing. */
const boundParts = ({ keyId, originSub, sessionId, agents, agentType, tier, tool, inputSha256, rules }: AskedCall): readonly unknown[] => [
  keyId,
  originSub,
  sessionId,
  [...agents],
  agentType,
  tier,
  tool,
  inputSha256,
  rules.map(({ digest }) => digest).toSorted(),
];
