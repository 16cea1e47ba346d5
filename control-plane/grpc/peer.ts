// The client certificate behind a stream. That one of our authorities vouches for it was settled when the connection began;
// here is settled that it goes with the key, and that no stream outlives it.
import { status } from '@grpc/grpc-js';
import { certificateProblem } from '../domain/access/certified.ts';

/** What is asked of a stream of gRPC. */
interface Peer {
  getAuthContext(): { readonly sslPeerCertificate?: { readonly subjectaltname?: string | undefined; readonly valid_to: string } };
}

export interface PeerEnd {
  readonly code: status;
  readonly details: string;
}

/** Null: it may go on. */
export function peerProblem(stream: Peer, workspace: string): PeerEnd | null {
  const certificate = stream.getAuthContext().sslPeerCertificate;
  if (certificate === undefined) return { code: status.UNAUTHENTICATED, details: 'the connection has no client certificate' };
  const problem = certificateProblem(certificate.subjectaltname ?? '', workspace);
  return problem === null ? null : { code: status.UNAUTHENTICATED, details: problem };
}

/** No refusal: whoever connects again, with the certificate that they have by now, is let in. */
const expired: PeerEnd = { code: status.UNAVAILABLE, details: 'the client certificate has expired; connect again with another' };
const timerMaxMs = 2 ** 31 - 1;

/** Calls once it has expired; answers how to be called no more. */
export function atExpiry(stream: Peer, wall: () => number, end: (how: PeerEnd) => void): () => void {
  const until = Date.parse(stream.getAuthContext().sslPeerCertificate?.valid_to ?? '');
  const leftMs = Number.isFinite(until) ? until - wall() : 0;
  const timer = setTimeout(() => end(expired), Math.min(Math.max(leftMs, 0), timerMaxMs));
  return () => clearTimeout(timer);
}
