// Makes tool servers that are programs usable like HTTP servers. A session of the older revisions is a separate
// program, with a session id of ours. In the newest revision one program serves all clients. When a program ends, its
// sessions end, and the next request starts another program. The number of programs that one key runs is limited, and
// so is the number that are still ending. This leaves capacity for other keys. Sessions leave one place for the shared
// program.
import { LRUCache } from 'lru-cache';
import type { Answer, Exchange, Send } from '../exchange.ts';
import { openProgramSession, type ProgramSession } from './session.ts';
import { openSharedProgram, type SharedProgram } from './shared.ts';
import { type Reach, UpstreamDown, upstreamBounds } from '../upstream.ts';
import { errorText, RpcRefusal, rpcErrors } from '../wire/rpc.ts';

type ProgramReach = Reach & { readonly kind: 'program' };

export interface ProgramUpstreams {
  sendTo(reach: ProgramReach, keyId: string): Send;
  close(): void;
}

interface OwnSession {
  readonly keyId: string;
  readonly session: ProgramSession;
}

/** The running programs of one server. */
interface Running {
  /** Least recently used first. */
  readonly sessions: LRUCache<string, OwnSession>;
  /** Keys of the sessions that are starting, and of the sessions that were asked to end. */
  readonly starting: string[];
  readonly ending: Map<string, string>;
  shared: Promise<SharedProgram> | null;
}

const notFound: Answer = { status: 404, headers: {}, body: { kind: 'none' } };
const noStream: Answer = { status: 405, headers: { allow: 'POST' }, body: { kind: 'none' } };
const deleted: Answer = { status: 200, headers: {}, body: { kind: 'none' } };

/** One place is reserved for the shared program. */
const sessionsMax = upstreamBounds.programs - 1;

export function createProgramUpstreams({ newId }: { readonly newId: () => string }): ProgramUpstreams {
  const running = new Map<ProgramReach, Running>();

  const runningOf = (reach: ProgramReach): Running => {
    const known = running.get(reach) ?? {
      sessions: new LRUCache<string, OwnSession>({ max: upstreamBounds.programs }),
      starting: [],
      ending: new Map<string, string>(),
      shared: null,
    };
    running.set(reach, known);
    return known;
  };
  const forget = (reach: ProgramReach, of: Running): void => {
    if (of.sessions.size + of.starting.length + of.ending.size === 0 && of.shared === null) running.delete(reach);
  };

  const begin = async (reach: ProgramReach, keyId: string, exchange: Exchange): Promise<Answer> => {
    const of = runningOf(reach);
    freePlaces(of, keyId);
    const id = newId();
    of.starting.push(keyId);
    try {
      const session = await named(
        openProgramSession(reach.open, () => {
          of.sessions.delete(id);
          of.ending.delete(id);
          forget(reach, of);
        }),
      );
      of.sessions.set(id, { keyId, session });
    } finally {
      of.starting.splice(of.starting.indexOf(keyId), 1);
      forget(reach, of);
    }
    const answer = await of.sessions.get(id)?.session.exchange(exchange);
    if (answer === undefined) throw new UpstreamDown('the program of the tool server has ended');
    return { ...answer, headers: { ...answer.headers, 'mcp-session-id': id } };
  };

  const share = async (reach: ProgramReach, exchange: Exchange): Promise<Answer> => {
    const of = runningOf(reach);
    of.shared ??= named(
      openSharedProgram(reach.open, () => {
        of.shared = null;
        forget(reach, of);
      }),
    ).catch((error: unknown) => {
      of.shared = null;
      forget(reach, of);
      throw error;
    });
    return (await of.shared).exchange(exchange);
  };

  return {
    sendTo: (reach, keyId) => async (exchange) => {
      const { era, message, headers, method } = exchange;
      if (era === 'modern') return share(reach, exchange);
      const id = headers['mcp-session-id'];
      if (id === undefined) {
        if (message?.kind === 'request' && message.method === 'initialize') return begin(reach, keyId, exchange);
        return method === 'POST' ? { ...notFound, status: 400 } : noStream;
      }
      const of = running.get(reach);
      const own = of?.sessions.get(id);
      if (of === undefined || own === undefined) return notFound;
      if (method !== 'DELETE') return own.session.exchange(exchange);
      end(of, id, own);
      return deleted;
    },
    close: () => {
      for (const { sessions, shared } of running.values()) {
        for (const { session } of sessions.values()) session.close();
        shared?.then((program) => program.close()).catch(() => undefined);
      }
    },
  };
}

/**
 * Starts the end of a session. The program needs some time to exit, and the session cannot be used during that time.
 */
function end({ sessions, ending }: Running, id: string, { keyId, session }: OwnSession): void {
  sessions.delete(id);
  ending.set(id, keyId);
  session.close();
}

/** Ends an idle session if the limits are reached. Throws `RpcRefusal` if there is still no capacity. */
function freePlaces(of: Running, keyId: string): void {
  const { programsOfKey } = upstreamBounds;
  const isFull = (): boolean => of.sessions.size + of.starting.length >= sessionsMax;
  const hasShare = (): boolean =>
    countOf(
      keyId,
      [...of.sessions.values()].map((own) => own.keyId),
    ) +
      countOf(keyId, of.starting) >=
    programsOfKey;
  const problem = (text: string): RpcRefusal => new RpcRefusal(503, errorText(null, rpcErrors.internal, `the tool server ${text}`));
  const full = problem(`already runs ${programsOfKey} programs for the sessions of this key; end a session, or try again later`);
  if (countOf(keyId, [...of.ending.values()]) >= programsOfKey) throw full;
  if (hasShare()) endIdle(of, (own) => own.keyId === keyId);
  if (hasShare()) throw full;
  if (isFull()) endIdle(of, () => true);
  if (isFull()) throw problem(`already runs ${sessionsMax} programs for open sessions; try again later`);
}

function endIdle(of: Running, which: (own: OwnSession) => boolean): void {
  for (const id of of.sessions.rkeys()) {
    const own = of.sessions.peek(id);
    if (own !== undefined && own.session.isIdle && which(own)) return end(of, id, own);
  }
}

const countOf = (keyId: string, keys: readonly string[]): number => keys.filter((key) => key === keyId).length;

async function named<T>(opening: Promise<T>): Promise<T> {
  try {
    return await opening;
  } catch (error) {
    throw error instanceof UpstreamDown ? new UpstreamDown(`the tool server ${error.message}`) : error;
  }
}
