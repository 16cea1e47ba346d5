// A connection to a tool server: over Streamable HTTP with the headers of its definition, or over the standard streams of
// a program started for it. Whoever opens one closes it; closing ends the server's session, or its program.
import { setTimeout as wait } from 'node:timers/promises';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { badRequest } from '../../domain/refusal.ts';
import type { Secrets, Target } from '../../domain/tool-servers/tool-server.ts';
import { targetProblem } from '../../domain/tool-servers/tool-server-definition.ts';
import { createGuardedFetch, type Trouble } from './guarded-fetch.ts';
import type { Reach } from './reach.ts';

export interface Connection {
  readonly client: Client;
  /** Resolves once the server has greeted. */
  readonly open: (signal: AbortSignal) => Promise<void>;
  /** What is known of why it failed. */
  readonly trouble: () => Trouble | null;
  readonly close: () => Promise<void>;
}

interface Way {
  readonly transport: Transport;
  readonly trouble: () => Trouble | null;
  /** What a server is owed before the transport is closed. */
  readonly leave: () => Promise<void>;
  readonly release: () => Promise<void>;
}

const self = { name: 'tollgate', version: '0.1.0' };
const messageBytesMax = 4 * 1_048_576;
/** How long a server may take to hear that its session has ended. */
const leaveMs = 1_000;
/** A program that does not know the newest protocol's first question may stay silent; then it is asked as of old. */
const probeMs = 3_000;

/** Throws `bad_request` for what the operator does not allow, or not any more. */
export function createConnection(target: Target, secrets: Secrets, reach: Reach): Connection {
  const refusal = targetProblem(target, reach);
  if (refusal !== null) throw badRequest(refusal);
  const way = target.kind === 'url' ? overHttp(target.url, secrets, reach) : overStreams(target, secrets);
  const client = new Client(self, {
    versionNegotiation: { mode: 'auto', ...(target.kind === 'command' ? { probe: { timeoutMs: probeMs } } : {}) },
  });
  return {
    client,
    open: (signal) => client.connect(way.transport, { signal }),
    trouble: way.trouble,
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

function overHttp(url: string, headers: Secrets, reach: Reach): Way {
  const to = new URL(url);
  const guarded = createGuardedFetch(to.origin, reach);
  const transport = new StreamableHTTPClientTransport(to, {
    fetch: guarded.fetch,
    requestInit: { headers: { ...headers } },
    reconnectionOptions: { maxRetries: 0, initialReconnectionDelay: 1_000, maxReconnectionDelay: 1_000, reconnectionDelayGrowFactor: 1 },
  });
  return {
    transport,
    trouble: guarded.trouble,
    leave: () => transport.terminateSession().catch(() => undefined),
    release: guarded.close,
  };
}

function overStreams({ program, args }: Extract<Target, { kind: 'command' }>, env: Secrets): Way {
  // To what is given the transport adds HOME, LOGNAME, PATH, SHELL, TERM and USER, and nothing else of ours.
  const transport = new StdioClientTransport({
    command: program,
    args: [...args],
    env: { ...env },
    stderr: 'ignore',
    maxBufferSize: messageBytesMax,
  });
  return { transport, trouble: () => null, leave: async () => undefined, release: async () => undefined };
}
