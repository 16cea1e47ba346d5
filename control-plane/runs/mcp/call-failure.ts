// Why a call of a tool came to nothing: in words that a model can act on, and that quote of the server only the message of
// a refusal in the protocol's own form.
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { hungUp } from './answering-transport.ts';
import type { Connection } from './connect.ts';

/** A call that may have been made is not made again. */
export const notKnown = 'whether it has done what it was asked is not known';
/** Of a server's own words. */
const wordsMax = 2_000;

/** After "the tool server". */
export function failureWords({ lost, trouble }: Connection, reason: unknown): string {
  if (reason instanceof SdkHttpError && reason.status !== undefined) return `answered with status ${reason.status}`;
  if (reason instanceof ProtocolError)
    return reason.data === hungUp ? `${reason.message}; ${notKnown}` : `refused the call: ${reason.message.slice(0, wordsMax)}`;
  const known = trouble();
  if (known !== null) return `${known.words}; ${notKnown}`;
  if (lost.aborted || isSdk(reason, SdkErrorCode.ConnectionClosed)) return `has gone in the middle of the call; ${notKnown}`;
  if (reason instanceof SdkError) return 'answered what is no result of a tool';
  return `could not be reached, or broke off; ${notKnown}`;
}

/** It went nowhere, or to a server that has forgotten the session: 404, and with many that do not know the rule 400. */
export function wasNotTaken({ client }: Connection, reason: unknown): boolean {
  if (!(reason instanceof SdkHttpError)) return isSdk(reason, SdkErrorCode.NotConnected);
  const { transport } = client;
  const inSession = transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined;
  return inSession && (reason.status === 404 || reason.status === 400);
}

const isSdk = (reason: unknown, code: SdkErrorCode): boolean => reason instanceof SdkError && reason.code === code;
