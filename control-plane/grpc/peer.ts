// Checks the client certificate of a stream. The TLS handshake has already verified that one of our authorities signed
// it. This code checks that the certificate matches the key, and ends a stream when its certificate expires.
import { status } from '@grpc/grpc-js';
import { certificateProblem } from '../access/rules/certified.ts';

/** The part of a gRPC stream that is needed here. */
interface Peer {
  getAuthContext(): { readonly sslPeerCertificate?: { readonly subjectaltname?: string | undefined; readonly valid_to: string } };
}

export interface PeerEnd {
  readonly code: status;
  readonly details: string;
}

/** Returns why the stream must end; null: it may continue. */
export function peerProblem(stream: Peer, workspace: string): PeerEnd | null {
  const certificate = stream.getAuthContext().sslPeerCertificate;
  if (certificate === undefined) return { code: status.UNAUTHENTICATED, details: 'the connection has no client certificate' };
  const problem = certificateProblem(certificate.subjectaltname ?? '', workspace);
  return problem === null ? null : { code: status.UNAUTHENTICATED, details: problem };
}

/** This end is not a refusal. A client that reconnects with its present certificate is accepted. */
const expired: PeerEnd = { code: status.UNAVAILABLE, details: 'the client certificate has expired; connect again with another' };
const timerMaxMs = 2 ** 31 - 1;

/** Calls `end` when the client certificate has expired. Returns a function that cancels this call. */
export function atExpiry(stream: Peer, wallTime: () => number, end: (how: PeerEnd) => void): () => void {
  const until = Date.parse(stream.getAuthContext().sslPeerCertificate?.valid_to ?? '');
  const leftMs = Number.isFinite(until) ? until - wallTime() : 0;
  const timer = setTimeout(() => end(expired), Math.min(Math.max(leftMs, 0), timerMaxMs));
  return () => clearTimeout(timer);
}
