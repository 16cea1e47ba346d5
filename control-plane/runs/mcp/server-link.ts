// Calls the tools of one server for one run. Each call has a time limit, including connecting. A call is retried once
// if the server cannot have accepted it: the server was gone, or it had forgotten the session. A call rejects only when
// the run ends. In all other cases the call returns a result, whatever the server does.
import { AppError } from '@tollgate/proto/contract';
import type { DiscoveredTool } from '../../tool-servers/rules/tool-server.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import type { SchemaProblem } from '../tools/schema-problem.ts';
import type { ToolContext, ToolResult } from '../tools/tool.ts';
import type { Connection } from './connect.ts';
import { createServerLines, type Line, type LineDeps, type LineTarget } from './server-lines.ts';
import { failure, resultOf, type ToolAnswer } from './tool-answer.ts';
import { ProtocolError, SdkError, SdkErrorCode, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { hungUp } from './answering-transport.ts';

export interface LinkDeps extends LineDeps {
  readonly schemaProblem: SchemaProblem;
}

export interface LinkedServer extends LineTarget {
  readonly name: string;
  readonly tools: readonly DiscoveredTool[];
  /** Whether the policy that is held now still contains the server with an unchanged definition. */
  readonly isHeld: () => boolean;
}

export interface ServerLink {
  call(tool: DiscoveredTool, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<ToolResult>;
  close(): Promise<void>;
}

interface WantedToolCall {
  readonly tool: DiscoveredTool;
  readonly input: Readonly<Record<string, unknown>>;
  readonly trace: ToolContext['trace'];
  readonly deadline: Deadline;
  readonly callMs: number;
  readonly schemaProblem: SchemaProblem;
  readonly isHeld: LinkedServer['isHeld'];
}

/** The message for a server that is no longer in the held policy. */
export const notHeld = 'the tool server was removed, or registered again, after the run began';

interface Attempt {
  /** False: the server cannot have executed the request. */
  readonly taken: boolean;
  readonly result: ToolResult;
}

export function createServerLink(server: LinkedServer, deps: LinkDeps): ServerLink {
  const { schemaProblem } = deps;
  const { isHeld } = server;
  const { callMs } = deps.reach;
  const lines = createServerLines(server, deps);
  let ended = false;

  return {
    call: async (tool, input, { signal, trace }) => {
      signal.throwIfAborted();
      if (ended) return failure('the run has ended');
      const deadline = createDeadline(signal, callMs);
      const wanted: WantedToolCall = { tool, input, trace, deadline, callMs, schemaProblem, isHeld };
      const once = async (): Promise<Attempt> => (isHeld() ? lines.use((line) => attempt(line, wanted)) : refused);
      try {
        const first = await once();
        return (first.taken ? first : await once()).result;
      } catch (reason) {
        signal.throwIfAborted();
        if (deadline.isLate()) return failure(`the tool server did not answer within ${callMs} ms; ${notKnown}`);
        if (reason instanceof AppError) return failure(`the tool server cannot be asked: ${reason.publicMessage}`);
        throw reason;
      } finally {
        deadline.clear();
      }
    },
    close: () => {
      ended = true;
      return lines.close();
    },
  };
}

/** Tries once to make the call over this line. Rejects at the deadline. */
async function attempt(line: Line, wanted: WantedToolCall): Promise<Attempt> {
  const { connection, opened, secrets } = line;
  const { signal } = wanted.deadline;
  let isOpen = false;
  try {
    await untilAborted(opened, signal);
    isOpen = true;
    // The policy may have changed while the connection was opened.
    if (!wanted.isHeld()) return refused;
    const answer = await untilAborted(ask(connection, wanted), signal);
    return { taken: true, result: resultOf(answer, secrets, brokenPromise(wanted, answer)) };
  } catch (reason) {
    if (!signal.aborted) return isOpen ? failed(line, reason) : unopened(line);
    // If no other call waits for this line to open, the line is not needed any more.
    if (!isOpen && line.isMine()) line.retire();
    throw reason;
  }
}

function ask({ client, lost }: Connection, { tool, input, trace, deadline, callMs }: WantedToolCall): Promise<ToolAnswer> {
  const { name, inputSchema } = tool;
  const params = { name, arguments: { ...input }, ...(Object.keys(trace).length === 0 ? {} : { _meta: { ...trace } }) };
  const asked = client.callTool(params, {
    // The definition is given here, so the client does not list the tools. This definition has no output schema, so the
    // client does not check the output.
    toolDefinition: { name, inputSchema: { ...inputSchema, type: 'object' } },
    headers: trace,
    signal: deadline.signal,
    // This timeout is longer than the deadline, so the deadline always ends the call first.
    timeout: callMs + 1_000,
  });
  // When a program has sent too much, it gets time to end. The call does not wait until the program has ended.
  return untilAborted(asked, lost);
}

/**
 * Returns in words how the answer violates the tool's `outputSchema`. Null: the answer does not violate the schema. An
 * answer that reports an error need not fit the schema.
 */
function brokenPromise(
  { tool: { outputSchema }, schemaProblem }: WantedToolCall,
  { isError, structuredContent }: ToolAnswer,
): string | null {
  if (outputSchema === undefined || isError === true) return null;
  return structuredContent === undefined
    ? 'it has no structuredContent'
    : schemaProblem(outputSchema, structuredContent, 'structuredContent');
}

const refused: Attempt = { taken: true, result: failure(notHeld) };

const unopened = ({ connection }: Line): Attempt => ({
  taken: true,
  result: failure(`the tool server ${connection.trouble()?.words ?? 'could not be reached, or does not speak MCP'}`),
});

function failed({ connection, retire }: Line, reason: unknown): Attempt {
  const taken = !wasNotTaken(connection, reason);
  if (!taken || connection.lost.aborted || connection.trouble()?.passing === false) retire();
  return { taken, result: failure(`the tool server ${failureWords(connection, reason)}`) };
}

// Says why a tool call failed, in words that a model can act on. The words contain text from the server only if the
// server sent an error message in the form of the protocol.

/** The words for a call that may have been executed. Such a call is not repeated. */
const notKnown = 'it is not known whether the call was executed';
/** At most this many characters of the server's error message are passed on. */
const wordsMax = 2_000;

/** Returns the reason of a failure as the end of a sentence that begins with "the tool server". */
function failureWords({ lost, trouble }: Connection, reason: unknown): string {
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
 * Whether the server cannot have accepted the request: it was not sent, or the server has forgotten the session. For a
 * forgotten session the protocol requires status 404, but many servers answer with 400.
 */
function wasNotTaken({ client }: Connection, reason: unknown): boolean {
  if (!(reason instanceof SdkHttpError)) return isSdk(reason, SdkErrorCode.NotConnected);
  const { transport } = client;
  const inSession = transport instanceof StreamableHTTPClientTransport && transport.sessionId !== undefined;
  return inSession && (reason.status === 404 || reason.status === 400);
}

const isSdk = (reason: unknown, code: SdkErrorCode): boolean => reason instanceof SdkError && reason.code === code;

// Aborts at a signal or after a time, whichever comes first. `clear` removes the timer when the work is done.

interface Deadline {
  readonly signal: AbortSignal;
  /** Whether the time expired first. */
  readonly isLate: () => boolean;
  readonly clear: () => void;
}

function createDeadline(outer: AbortSignal, ms: number): Deadline {
  const inner = new AbortController();
  let late = false;
  const end = (): void => inner.abort(outer.reason);
  const timer = setTimeout(() => {
    late = true;
    inner.abort(new Error('too late'));
  }, ms);
  if (outer.aborted) end();
  outer.addEventListener('abort', end, { once: true });
  return {
    signal: inner.signal,
    isLate: () => late,
    clear: () => {
      clearTimeout(timer);
      outer.removeEventListener('abort', end);
    },
  };
}
