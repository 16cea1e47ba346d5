// TLS of the REST port. A renewed certificate is used for new connections; existing ones and their requests continue.
import type { Server } from 'node:http';
import type { ServerOptions } from 'node:https';
import { Server as TlsServer } from 'node:tls';
import { contextOf, type ServerCertificate } from '../base/secure-context.ts';

/** A connection that has not agreed on TLS by then is closed. At a stop, such connections are waited for. */
const handshakeTimeoutMs = 5_000;

/** `timeouts`: those of HTTP. */
export const tlsOptions = (pair: ServerCertificate, timeouts: ServerOptions): ServerOptions => ({
  ...timeouts,
  ...contextOf(pair),
  handshakeTimeout: handshakeTimeoutMs,
});

/** The event with which the server reports the socket that its requests have. */
export const connectionEvent = (server: Server): 'connection' | 'secureConnection' =>
  server instanceof TlsServer ? 'secureConnection' : 'connection';

export function useCertificate(server: Server, pair: ServerCertificate): void {
  if (!(server instanceof TlsServer)) throw new Error('the REST server must have been made with a certificate to get another one');
  server.setSecureContext(contextOf(pair));
}
