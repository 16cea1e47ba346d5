// Defines a request that was sent to a tool server, with the handling of everything that comes back for it.
import type { TraceHeaders } from '../../../telemetry/tracing.ts';
import type { ClientRequest } from '../../../upstream/wire/message.ts';
import type { ServerMessage } from '../../../upstream/wire/server-message.ts';
import type { ParamHeader } from '../../../upstream/wire/header-values.ts';
import type { StreamWriter } from '../http/writer.ts';

export type ServerResponse = ServerMessage & { readonly kind: 'response' };

export interface Pending {
  readonly method: string;
  /** Returns the answer in the form that the client may receive, as text. Called once. */
  settle(response: ServerResponse): Promise<string>;
  /** Called if no answer will come. `why` is a reason without secrets. */
  abandon(why: string): Promise<void>;
  /** Returns the text of another message that belongs to this request, in the form that the client may receive. */
  readonly passing: (text: string) => string;
  /** The tool for which the outcome and `passing` are redacted. Undefined: nothing is redacted. */
  readonly redacting?: string;
  /** Present if the answer is a stream that stays open for changes. Returns how to notify its client. */
  readonly listening?: (writer: StreamWriter) => Listening;
}

export interface Listening {
  /**
   * Returns the notification in this client's form. Null: the client did not ask for it, or the server has not
   * confirmed the subscription yet.
   */
  notification(): string | null;
  write(text: string): void;
  close(): void;
}

export interface PreparedRequest {
  /** The message to forward. */
  readonly message: ClientRequest;
  /** Arguments that are repeated in headers of the request. */
  readonly declared: readonly ParamHeader[];
  /** Headers with the trace of the request. */
  readonly trace?: TraceHeaders;
  readonly pending: Pending;
}

/** Returns the handling of a request that is forwarded without inspection. */
export const plainPending = (method: string, passing: Pending['passing']): Pending => ({
  method,
  settle: ({ text }) => Promise.resolve(text),
  abandon: () => Promise.resolve(),
  passing,
});
