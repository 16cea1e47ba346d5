// Manages the connections of one run to one tool server. The first call opens a connection (a line), and all later
// calls share it. Opening continues as long as a call waits for the line. A retired line accepts no new calls, and it
// is closed when its calls have ended.
import { AppError } from '@tollgate/proto/contract';
import type { Secrets, Target } from '../../tool-servers/rules/tool-server.ts';
import { type Connection, createConnection } from './connect.ts';
import type { Reach } from './reach.ts';

/** Reserves one of the places for running programs. Returns null while all places are in use. */
export type TakeSeat = () => { readonly leave: () => void } | null;

export interface LineDeps {
  readonly reach: Reach;
  readonly takeSeat: TakeSeat;
}

export interface Line {
  readonly connection: Connection;
  /** Resolves after the server has completed the handshake. */
  readonly opened: Promise<void>;
  /** The secrets that were sent to the server. */
  readonly secrets: Secrets;
  readonly retire: () => void;
  /** Whether only one call uses the line now. */
  readonly isMine: () => boolean;
}

export interface ServerLines {
  /** Throws an `AppError` when no line can be opened. */
  use<T>(call: (line: Line) => Promise<T>): Promise<T>;
  /** Closes all lines, which ends the calls in progress. */
  close(): Promise<void>;
}

export interface LineTarget {
  readonly target: Target;
  /** Throws an `AppError` when the secrets cannot be read. */
  readonly secrets: () => Secrets;
}

interface HeldLine extends Line {
  calls: number;
  retired: boolean;
  readonly close: () => Promise<void>;
}

export function createServerLines({ target, secrets }: LineTarget, { reach, takeSeat }: LineDeps): ServerLines {
  const lines = new Set<HeldLine>();
  let current: HeldLine | null = null;

  function open(): HeldLine {
    const sent = secrets();
    const connection = createConnection(target, sent, reach, 'each');
    const seat = target.kind === 'command' ? takeSeat() : { leave: () => undefined };
    if (seat === null) throw new AppError({ code: 'rate_limited', publicMessage: noSeat });
    const opening = new AbortController();
    let closed: Promise<void> | null = null;
    const end = async (): Promise<void> => {
      opening.abort();
      await connection.close().catch(() => undefined);
      seat.leave();
      lines.delete(line);
    };
    const line: HeldLine = {
      connection,
      opened: connection.open(opening.signal),
      secrets: sent,
      calls: 0,
      retired: false,
      retire: () => retire(line),
      isMine: () => line.calls === 1,
      close: () => {
        closed ??= end();
        return closed;
      },
    };
    lines.add(line);
    line.opened.catch(() => retire(line));
    return line;
  }

  function retire(line: HeldLine): void {
    line.retired = true;
    if (current === line) current = null;
    if (line.calls === 0) void line.close();
  }

  return {
    use: async (call) => {
      if (current?.connection.lost.aborted === true) retire(current);
      current ??= open();
      const line = current;
      line.calls += 1;
      try {
        return await call(line);
      } finally {
        line.calls -= 1;
        if (line.retired) retire(line);
      }
    },
    close: async () => {
      current = null;
      await Promise.all([...lines].map((line) => line.close()));
    },
  };
}

const noSeat = 'too many programs of tool servers are running to start another one; try again';
