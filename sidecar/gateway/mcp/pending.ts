// A request on its way to a tool server: what is to become of whatever comes back because of it.
import type { TraceHeaders } from '../../telemetry/tracing.ts';
import type { ClientRequest } from './wire/message.ts';
import type { ServerMessage } from './wire/server-message.ts';
import type { ParamHeader } from './wire/header-values.ts';
import type { StreamWriter } from './writer.ts';

export type ServerResponse = ServerMessage & { readonly kind: 'response' };

export interface Pending {
  readonly method: string;
  /** The answer as it may reach the client, as text. Asked once. */
  settle(response: ServerResponse): Promise<string>;
  /** No answer comes any more; why, in words without secrets. */
  abandon(why: string): Promise<void>;
  /** Text of another message that comes because of it, as it may reach the client. */
  readonly passing: (text: string) => string;
  /** The tool whose outcome is redacted, as `passing` is; undefined: nothing is. */
  readonly redacting?: string;
  /** Where the stream of its answer stays open for what changes. */
  readonly listening?: (writer: StreamWriter) => Listening;
}

export interface Listening {
  /** The notification as this client knows it; null while it has not asked for it. */
  notification(): string | null;
  write(text: string): void;
  close(): void;
}

export interface Prepared {
  /** As it goes on. */
  readonly message: ClientRequest;
  /** Arguments that its headers repeat. */
  readonly declared: readonly ParamHeader[];
  /** Headers that tell of the trace it is part of. */
  readonly trace?: TraceHeaders;
  readonly pending: Pending;
}

/** Of a request that is none of ours to look into. */
export const plainPending = (method: string, passing: Pending['passing']): Pending => ({
  method,
  settle: ({ text }) => Promise.resolve(text),
  abandon: () => Promise.resolve(),
  passing,
});
