// Parses the body of a certificate request: `{"publicKey": "<PEM>"}`.
import { createPublicKey, type KeyObject } from 'node:crypto';
import { badRequest } from '../../base/refusal.ts';
import { isObject } from '@tollgate/proto/shape';

const pem = /^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/;
const wanted = 'must be a public key of EC P-256, as PEM of its SPKI (BEGIN PUBLIC KEY)';

export function publicKeyIn(body: string): KeyObject {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw badRequest('the body is not JSON');
  }
  if (!isObject(value)) throw badRequest('the body must be an object with publicKey');
  if (Object.keys(value).some((name) => name !== 'publicKey')) throw badRequest('the body has a field other than publicKey');
  const text = value['publicKey'];
  // From a private key, Node would take the public half. A private key must not be sent here.
  if (typeof text !== 'string' || !pem.test(text)) throw badRequest(`publicKey ${wanted}`);
  const key = keyFrom(text);
  if (key?.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw badRequest(`publicKey ${wanted}`);
  return key;
}

function keyFrom(text: string): KeyObject | null {
  try {
    return createPublicKey({ key: text, format: 'pem' });
  } catch {
    return null;
  }
}
