// A request sent to a tool server, with the handling of everything that comes back for it.
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
  /** The text of another message for this request, in the form that the client may receive. */
  readonly passing: (text: string) => string;
  /** The tool for which the outcome and `passing` are redacted. Undefined: nothing is redacted. */
  readonly redacting?: string;
  /** Set if the answer is a stream that stays open for changes. */
  readonly listening?: (writer: StreamWriter) => Listening;
}

export interface Listening {
  /** The notification in this client's form. Null: the client has not asked for it yet. */
  notification(): string | null;
  write(text: string): void;
  close(): void;
}

export interface PreparedRequest {
  /** The message to forward. */
  readonly message: ClientRequest;
  /** Arguments that its headers repeat. */
  readonly declared: readonly ParamHeader[];
  /** Headers with the trace of the request. */
  readonly trace?: TraceHeaders;
  readonly pending: Pending;
}

/** For a request that is forwarded without inspection. */
export const plainPending = (method: string, passing: Pending['passing']): Pending => ({
  method,
  settle: ({ text }) => Promise.resolve(text),
  abandon: () => Promise.resolve(),
  passing,
});
