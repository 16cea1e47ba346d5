// Connects to a tool server: over Streamable HTTP with the headers of the server's definition, or over the standard
// streams of a program that is started for the connection. The code that opens a connection must close it. Closing ends
// the server's session or program.
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Client, type Transport } from '@modelcontextprotocol/client';
import { type AnswerBound, createGuardedFetch, type Trouble, UpstreamDown } from '@tollgate/sidecar/upstream';
import { badRequest } from '../../base/refusal.ts';
import type { Secrets, Target } from '../../tool-servers/rules/tool-server.ts';
import { targetProblem } from '../../tool-servers/rules/tool-server-definition.ts';
import { AnsweringTransport } from './answering-transport.ts';
import { ProgramTransport } from './program-transport.ts';
import type { Reach } from './reach.ts';

export interface Connection {
  readonly client: Client;
  /** Resolves after the server has completed the handshake. */
  readonly open: (signal: AbortSignal) => Promise<void>;
  /** The known reason for a failure; null if there is no known reason. */
  readonly trouble: () => Trouble | null;
  /** Aborted when the connection cannot deliver anything more. */
  readonly lost: AbortSignal;
  readonly close: () => Promise<void>;
}

interface Way {
  readonly transport: Transport;
  readonly trouble: () => Trouble | null;
  /** Called with each error of the transport. True: the connection is unusable. */
  readonly isFatal: (error: Error) => boolean;
  /** Notifies the server before the transport is closed. */
  readonly leave: () => Promise<void>;
  readonly release: () => Promise<void>;
}

const self = { name: 'tollgate', version: '0.1.0' };
const messageBytesMax = 4 * 1_048_576;
/** How long to wait, in ms, until the server confirms the end of its session. */
const leaveMs = 1_000;
/**
 * The timeout of the version probe, in ms. A program that does not know the first request of the newest protocol might
 * not answer it. The client then uses the older handshake.
 */
const probeMs = 3_000;

/** Throws `bad_request` for a target that the operator does not allow, or no longer allows. */
export function createConnection(target: Target, secrets: Secrets, reach: Reach, bound: AnswerBound = 'all'): Connection {
  const refusal = targetProblem(target, reach);
  if (refusal !== null) throw badRequest(refusal);
  const way = target.kind === 'url' ? overHttp(target.url, secrets, { reach, bound }) : overStreams(target, secrets, reach);
  const client = new Client(self, {
    versionNegotiation: { mode: 'auto', ...(target.kind === 'command' ? { probe: { timeoutMs: probeMs } } : {}) },
  });
  const lost = new AbortController();
  // Every call in progress adds a listener. With the standard maximum, Node would print a warning.
  setMaxListeners(0, lost.signal);
  Object.assign(client, {
    onclose: () => lost.abort(),
    onerror: (error: Error) => {
      if (way.isFatal(error)) lost.abort();
    },
  });
  return {
    client,
    open: (signal) => client.connect(way.transport, { signal }),
    trouble: way.trouble,
    lost: lost.signal,
    close: async () => {
      try {
        await Promise.race([way.leave(), wait(leaveMs, undefined, { ref: false })]);
        await client.close();
      } finally {
        await way.release();
      }
    },
  };
}

function overHttp(url: string, headers: Secrets, { reach, bound }: { readonly reach: Reach; readonly bound: AnswerBound }): Way {
  const to = new URL(url);
  const guarded = createGuardedFetch(to.origin, reach, bound);
  const transport = new AnsweringTransport(to, guarded, {
    requestInit: { headers: { ...headers } },
    reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1_000, maxReconnectionDelay: 1_000, reconnectionDelayGrowFactor: 1 },
  });
  return {
    transport,
    trouble: guarded.trouble,
    isFatal: () => false,
    leave: () => transport.terminateSession().catch(() => undefined),
    release: guarded.close,
  };
}

function overStreams({ program, args }: Extract<Target, { kind: 'command' }>, env: Secrets, { programEnv }: Reach): Way {
  let trouble: Trouble | null = null;
  const keep = ({ message }: UpstreamDown): void => {
    trouble ??= { by: 'server', words: message, passing: false };
  };
  const transport = new ProgramTransport({
    command: program,
    args,
    env,
    inherited: programEnv,
    bytesMax: messageBytesMax,
    unstarted: keep,
  });
  return {
    transport,
    trouble: () => trouble,
    // The transport reports this error and then waits for the program to end. Calls need not wait for the end of the
    // program.
    isFatal: (error) => {
      if (!(error instanceof UpstreamDown)) return false;
      keep(error);
      return true;
    },
    leave: async () => undefined,
    release: async () => undefined,
  };
}
