// Explains an error answer of a control plane, or a network error, in words: what happened, where, and what would be
// correct.
import { isRow } from './answer.ts';
import { Failure, Outage } from '../failure.ts';
import type { Received } from './receive.ts';

interface Refused {
  readonly url: string;
  readonly keyFrom: string;
  readonly method: string;
  readonly path: string;
  readonly response: Received;
  readonly body: unknown;
}

export function explainRefusal({ url, keyFrom, method, path, response: { status, headers }, body }: Refused): Failure {
  const said = isRow(body) && typeof body['error'] === 'string' ? body['error'] : null;
  const details = isRow(body) && Array.isArray(body['details']) ? body['details'].map(String) : [];
  const asked = `${method} ${path}`;
  if (status >= 300 && status < 400)
    return new Failure(
      `${url} redirects to ${headers.get('location') ?? 'no address'}; give the address of the control plane itself with --url`,
    );
  if (said === null)
    return new Failure(
      `${url} answered with status ${status}, and the answer is not the JSON of a control plane; check that the URL is the REST address of a control plane`,
    );
  // If the message consists of the details, the details would be printed twice.
  const lines = details.length > 1 ? details : [];
  const what = lines.length > 0 && said === lines.join('; ') ? `${asked} is rejected` : said;
  switch (status) {
    case 401:
      return new Failure(`${url} does not accept ${keyFrom}: ${what}`, [
        ...lines,
        'the key may be revoked, rotated or expired; ask for a new key',
      ]);
    case 403:
      return new Failure(`the control plane does not permit this request with ${keyFrom}: ${what}`, [...lines, `the request was ${asked}`]);
    case 404:
      return said === 'there is no such path'
        ? new Failure(`${url} does not know the request ${asked}; the control plane may be older than this tollgate command`, lines)
        : new Failure(what, [...lines, `the request was ${asked}`]);
    case 412:
      return new Failure(what, [
        ...lines,
        'another request has changed the object in the meantime; read the object again, then repeat the command',
      ]);
    case 429:
    case 503: {
      const waitMs = retryAfterMs(headers.get('retry-after'));
      return new Outage(what, [...lines, waitMs === null ? 'try again later' : `try again in ${Math.ceil(waitMs / 1_000)} s`]);
    }
    default:
      return status >= 500 ? new Outage(`${url} failed at ${asked} with ${status}: ${what}`, lines) : new Failure(what, lines);
  }
}

/** Returns the wait in ms; null if the header is absent or is a date. The server never sends a date. */
export const retryAfterMs = (header: string | null): number | null =>
  header !== null && /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : null;

const tlsCodes = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|EPROTO$|HOSTNAME_MISMATCH)/;

interface Unanswered {
  readonly url: string;
  readonly timeoutMs: number;
  /** Whether the server has answered before. If so, `http` or `https` in the URL is correct. */
  readonly answered: boolean;
  /** Lines to add when the request may have been executed. */
  readonly perhapsDone: readonly string[];
}

export function explainNetworkError(error: unknown, { url, timeoutMs, answered, perhapsDone }: Unanswered): Failure {
  if (error instanceof DOMException && error.name === 'TimeoutError')
    return new Outage(
      `${url} did not answer within ${timeoutMs / 1_000} s; a longer limit is set with --timeout <seconds>`,
      perhapsDone,
      error,
    );
  const code = codeOf(error) ?? (error instanceof Error ? codeOf(error.cause) : null);
  switch (code) {
    case null:
      return new Outage(`${url} cannot be reached: ${causeOf(error)}`, perhapsDone, error);
    case 'ECONNREFUSED':
      return new Outage(
        `no program listens at ${url}`,
        ['start a control plane with npm start or tollgate-control-plane start, or give another address with --url'],
        error,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Outage(`${url} has a host name that cannot be resolved (${code}); check --url, TOLLGATE_URL or the profile`, [], error);
    case 'ECONNRESET':
    case 'EPIPE':
    case 'UND_ERR_SOCKET':
      return new Outage(`${url} closed the connection (${code})${answered ? '' : tlsHint(url)}`, perhapsDone, error);
    default:
      if (tlsCodes.test(code))
        return new Failure(
          `the TLS connection to ${url} failed (${code})`,
          [
            'if a private authority issued the certificate of the server, set NODE_EXTRA_CA_CERTS=<file with the certificate of the authority>; if the port has no TLS, use http://',
          ],
          error,
        );
      return new Outage(`${url} cannot be reached (${code})`, perhapsDone, error);
  }
}

const tlsHint = (url: string): string => (url.startsWith('http:') ? '; if the port uses TLS, use https://' : '');

const codeOf = (error: unknown): string | null =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
