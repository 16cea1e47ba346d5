// Says why a tool call failed, in words that a model can act on. The words quote the server only for an error message
// in the protocol's own form.
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { hungUp } from './answering-transport.ts';
import type { Connection } from './connect.ts';

/** A call that may have been executed is not repeated. */
export const notKnown = 'it is not known whether the call was executed';
/** The largest length of the server's own words, in characters. */
const wordsMax = 2_000;

/** The words follow "the tool server". */
export function failureWords({ lost, trouble }: Connection, reason: unknown): string {
  if (reason instanceof SdkHttpError && reason.status !== undefined) return `answered with status ${reason.status}`;
  if (reason instanceof ProtocolError)
    return reason.data === hungUp ? `${reason.message}; ${notKnown}` : `refused the call: ${reason.message.slice(0, wordsMax)}`;
  const known = trouble();
  if (known !== null) return `${known.words}; ${notKnown}`;
  if (lost.aborted || isSdk(reason, SdkErrorCode.ConnectionClosed)) return `ended during the call; ${notKnown}`;
  if (reason instanceof SdkError) return 'sent an answer that is not a tool result';
  return `could not be reached, or closed the connection; ${notKnown}`;
}

/**
 * Whether the request was not sent, or the server has forgotten the session: 404, or 400 from the many servers that do
 * not follow that rule.
 */
export function wasNotTaken({ client }: Connection, reason: unknown): boolean {
  if (!(reason instanceof SdkHttpError)) return isSdk(reason, SdkErrorCode.NotConnected);
  const { transport } = client;
  const inSession = transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined;
  return inSession && (reason.status === 404 || reason.status === 400);
}

const isSdk = (reason: unknown, code: SdkErrorCode): boolean => reason instanceof SdkError && reason.code === code;
