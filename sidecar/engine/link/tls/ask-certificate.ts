// Sends one request for a certificate, over HTTPS. Each request uses a new private key, which never leaves this
// process. Errors are returned and not thrown. The answer is checked before it counts as a certificate.
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Clock } from '../../../base/clock.ts';
import type { Pair } from './credentials.ts';
import { certificatesIn } from './options.ts';

export interface IssuedCertificate {
  readonly own: Pair;
  /** The current authorities of the control plane, as PEM. */
  readonly authorities: string;
}

export type Answer =
  | { readonly ok: true; readonly issued: IssuedCertificate }
  /**
   * `now`: the request was refused, and for a while the same request gets the same answer. `key`: the key itself is not
   * valid. `no`: there is another problem.
   */
  | { readonly ok: false; readonly refused: 'no' | 'now' | 'key'; readonly problem: string };

export interface Asking {
  /** `host:port`. */
  readonly enrol: string;
  /** The file with the token for the request. Null: the request uses the key. */
  readonly tokenFile: string | null;
  readonly key: string;
}

/** The timeout until TLS is established. It is needed because packets may no longer reach the address. */
const connectMs = 5_000;
const answerMs = 10_000;
const answerBytesMax = 1024 * 1024;

/**
 * Requests a certificate. `authorities`: the server must have a certificate of one of them, otherwise the token is not
 * sent.
 */
export async function askCertificate(clock: Pick<Clock, 'after'>, asking: Asking, authorities: string): Promise<Answer> {
  const { enrol, tokenFile } = asking;
  const bearer = tokenFile === null ? asking.key : await readFile(tokenFile, 'utf8').then((text) => text.trim(), failure);
  if (typeof bearer !== 'string') return failed(`the token in ${tokenFile} cannot be read (${bearer.code})`);
  if (!/^[\x21-\x7e]+$/.test(bearer)) return failed(`${tokenFile} holds no token`);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const body = JSON.stringify({ publicKey: publicKey.export({ type: 'spki', format: 'pem' }) });
  const replied = await post(clock, { enrol, authorities, bearer, body }).catch(failure);
  if ('code' in replied) return failed(`${enrol} gives no certificate: ${replied.message}`);
  const { status, text } = replied;
  if (status !== 200) return refusal(asking, status, text);
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const issued = issuedIn(text, key);
  return issued === null ? failed(`${enrol} answered with no certificate for this sidecar's key`) : { ok: true, issued };
}

const failed = (problem: string): Answer => ({ ok: false, refused: 'no', problem });

const failure = (error: unknown): { readonly code: string; readonly message: string } => ({
  code: error instanceof Error && 'code' in error ? String(error.code) : 'unknown',
  message: error instanceof Error ? error.message : String(error),
});

/**
 * Returns the problem for an answer that is a refusal. The text of the answer is for the log, so its line ends are
 * removed and its length is limited.
 */
function refusal({ enrol, tokenFile }: Asking, status: number, text: string): Answer {
  const refused = status >= 500 ? 'no' : tokenFile === null && (status === 401 || status === 403) ? 'key' : 'now';
  const said = wordsIn(text).replaceAll(/\s+/g, ' ').slice(0, 300);
  return { ok: false, refused, problem: `${enrol} gives no certificate: it answered ${status}${said === '' ? '' : `, ${said}`}` };
}

function wordsIn(text: string): string {
  const body = parse(text);
  const error = isRow(body) ? body['error'] : undefined;
  const message = isRow(error) ? error['message'] : error;
  return typeof message === 'string' ? message : '';
}

function issuedIn(text: string, key: string): IssuedCertificate | null {
  const body = parse(text);
  if (!isRow(body)) return null;
  const { certificate, authorities } = body;
  if (typeof certificate !== 'string' || typeof authorities !== 'string') return null;
  try {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) return null;
    return { own: { certificate, key }, authorities: certificatesIn(authorities).join('\n') };
  } catch {
    return null;
  }
}

const isRow = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === 'object' && value !== null;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface EnrolmentPost {
  readonly enrol: string;
  readonly authorities: string;
  readonly bearer: string;
  readonly body: string;
}

interface EnrolmentReply {
  readonly status: number;
  readonly text: string;
}

/** Sends the request over a new connection, so that a change of authorities applies to the very next request. */
async function post(clock: Pick<Clock, 'after'>, { enrol, authorities, bearer, body }: EnrolmentPost): Promise<EnrolmentReply> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const url = new URL(`https://${enrol}/v1/certificate`);
  const asked = request(url, { method: 'POST', ca: authorities, agent: false, minVersion: 'TLSv1.2', headers });
  // Nothing is done here, because the code below that awaits the answer receives this error too.
  asked.on('error', () => undefined);
  let timer = clock.after(connectMs, () => void asked.destroy(new Error(`no connection within ${connectMs / 1000} s`)));
  asked.on('socket', (socket) =>
    socket.once('secureConnect', () => {
      timer.cancel();
      timer = clock.after(answerMs, () => void asked.destroy(new Error(`no answer within ${answerMs / 1000} s`)));
    }),
  );
  try {
    asked.end(body);
    // Node emits `response` with these arguments.
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, text: await read(response) };
  } finally {
    timer.cancel();
  }
}

async function read(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > answerBytesMax) throw new Error(`the answer is larger than ${answerBytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
