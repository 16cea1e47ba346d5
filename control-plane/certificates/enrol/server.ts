// Issues certificates to sidecars: `POST /v1/certificate` over TLS, with a key or a token, and with a public key. The
// private key never leaves the sidecar. Every error answer is `{error}`, as in the REST API.
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '@tollgate/proto/contract';
import { type CertifiedPeer, uriOf } from '../../access/rules/certified.ts';
import { badRequest, notFound } from '../../base/refusal.ts';
import { errorBody, httpStatus, refusalOf } from '../../base/errors.ts';
import { createRateLimit } from '../../base/rate-limit.ts';
import { loggable } from '../../base/loggable.ts';
import { createSeats } from '../../base/turns.ts';
import { type HttpsServer, isJson, readBody, type Reply, standardBounds, startHttpsServer } from '../https-server.ts';
import type { Pair } from '../x509/certificate.ts';
import { identify, type IdentifyDeps, isKey } from './identify.ts';
import type { EnrolMetrics } from './metrics.ts';
import { isObject } from '@tollgate/proto/shape';

export interface EnrolDeps extends IdentifyDeps {
  /** Returns null while no authority is available. */
  readonly issue: (publicKey: KeyObject, uri: string) => { readonly certificate: string; readonly expiresAt: Date } | null;
  /** Returns all authorities as PEM. Throws when none is available. */
  readonly authorities: () => Promise<string>;
  readonly clock: () => Date;
  readonly metrics: EnrolMetrics;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const path = '/v1/certificate';
const bodyBytesMax = 4_096;
const bounds = { ...standardBounds, idleMs: 5_000 };
/**
 * The maximum number of requests a minute. Many sidecars may have the same address or key. A pod has one sidecar, which
 * renews its certificate twice an hour.
 */
const perMinute = { address: 600, key: 600, pod: 12 } as const;
/** The maximum number of concurrent checks with the database. The same maximum applies to checks with Kubernetes. */
const atOnce = 64;

export function startEnrolServer(
  deps: EnrolDeps,
  listen: { readonly host: string; readonly port: number },
  pair: Pair,
): Promise<HttpsServer> {
  const certificate = createCertificate(deps);
  const answered = async (request: IncomingMessage): Promise<Reply> => {
    try {
      return { status: 200, body: await certificate(request), headers: { 'cache-control': 'no-store' } };
    } catch (error) {
      return refused(deps, refusalOf(error));
    }
  };
  const warn = (fields: object, message: string): void => deps.log.warn(fields, message);
  return startHttpsServer(answered, { ...listen, bounds, warn }, pair);
}

interface Certificate {
  readonly certificate: string;
  readonly authorities: string;
  readonly expiresAt: string;
}

function createCertificate(deps: EnrolDeps): (request: IncomingMessage) => Promise<Certificate> {
  const { clock, issue, authorities, metrics } = deps;
  const addresses = createRateLimit(clock, perMinute.address, 'certificates a minute for each address');
  const limits: Readonly<Record<CertifiedPeer['kind'], ReturnType<typeof createRateLimit>>> = {
    key: createRateLimit(clock, perMinute.key, 'certificates a minute for each key'),
    pod: createRateLimit(clock, perMinute.pod, 'certificates a minute for each pod'),
  };
  const seats = createSeats<CertifiedPeer['kind']>({ each: atOnce });
  const identified = async (authorization: string | undefined, address: string): Promise<CertifiedPeer> => {
    // Keys and pods have separate seats. Therefore a slow database does not block pods, and a slow Kubernetes does not
    // block keys.
    const seat = seats.take(isKey(authorization) ? 'key' : 'pod');
    if ('taken' in seat) throw busy();
    try {
      return await identify(deps, authorization, address);
    } finally {
      seat.leave();
    }
  };
  return async (request) => {
    requireForm(request);
    const address = request.socket.remoteAddress ?? '';
    addresses.take(address);
    const certified = await identified(request.headers.authorization, address);
    const uri = uriOf(certified);
    limits[certified.kind].take(uri);
    const body = await readBody(request, bodyBytesMax);
    if (body === null) throw new AppError({ code: 'too_large', publicMessage: `the body must be at most ${bodyBytesMax} bytes` });
    const issued = issue(publicKeyIn(body), uri);
    if (issued === null)
      throw new AppError({ code: 'unavailable', publicMessage: 'no authority can sign certificates now; try again', retryAfterSeconds: 5 });
    metrics.issued(certified.kind);
    return { certificate: issued.certificate, authorities: await authorities(), expiresAt: issued.expiresAt.toISOString() };
  };
}

function requireForm(request: IncomingMessage): void {
  const [asked] = (request.url ?? '').split('?');
  if (asked !== path) throw notFound(`the only path here is ${path}`);
  if (request.method !== 'POST') throw badRequest('must be POST');
  if (!isJson(request)) throw new AppError({ code: 'unsupported_media', publicMessage: 'the content type must be application/json' });
}

const busy = (): AppError =>
  new AppError({ code: 'unavailable', publicMessage: 'too many certificate requests are in progress; try again', retryAfterSeconds: 1 });

function refused({ metrics, log }: EnrolDeps, refusal: AppError): Reply {
  const { code, publicMessage, cause, retryAfterSeconds } = refusal;
  metrics.refused(code);
  const line = { refusal: publicMessage, ...(cause === undefined ? {} : loggable(cause)) };
  if (code === 'internal') log.error(line, 'a certificate could not be issued');
  if (code === 'unavailable') log.warn(line, 'a certificate could not be issued now');
  const headers = {
    ...(code === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}),
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  };
  return { status: httpStatus(code), body: errorBody(refusal), headers };
}

// Parses the body of a certificate request: `{"publicKey": "<PEM>"}`.

const publicKeyForm = /^\s*-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/;
const publicKeyRule = 'must be a public key of EC P-256, as PEM of its SPKI (BEGIN PUBLIC KEY)';

function publicKeyIn(body: string): KeyObject {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw badRequest('the body is not JSON');
  }
  if (!isObject(value)) throw badRequest('the body must be an object with publicKey');
  if (Object.keys(value).some((name) => name !== 'publicKey')) throw badRequest('the body has a field other than publicKey');
  const text = value['publicKey'];
  // Node would also accept a private key and derive the public key from it. A private key must not be sent here.
  if (typeof text !== 'string' || !publicKeyForm.test(text)) throw badRequest(`publicKey ${publicKeyRule}`);
  const key = keyFrom(text);
  if (key?.asymmetricKeyType !== 'ec' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw badRequest(`publicKey ${publicKeyRule}`);
  return key;
}

function keyFrom(text: string): KeyObject | null {
  try {
    return createPublicKey({ key: text, format: 'pem' });
  } catch {
    return null;
  }
}
