// What all doors of a process share, and how a request comes in through any of them: policy is held, its key is good, and
// the key has not asked oftener than it may. Who is kept out is no caller, and leaves no entry; how often a good key was, stands in one.
import type { Identity } from '../decide/call.ts';
import type { Sidecar } from '../sidecar.ts';
import { BodyRoom } from './body-room.ts';
import { authenticate, type Barred, noPolicy } from './key.ts';
import type { DecisionMetrics } from '../metrics/sidecar.ts';
import type { Log } from '../log.ts';
import { createRequestLimit, requestsPerSecondDefault } from './request-limit.ts';
import { createRefusedRequests, refusalsLost, type RefusedBy } from './refused-requests.ts';
import { noPins, type Pins, pinned } from './pins.ts';
import { type RoomBytes, SessionRoom } from './sessions/room.ts';
import { createSessions, type Sessions } from './sessions/sessions.ts';
import type { CallTracing } from '../telemetry/tracing.ts';

/** What a request shows of who sent it. */
export interface Shown {
  readonly authorization: string | undefined;
  /** The slug in the path; undefined: there is none. */
  readonly workspace: string | undefined;
}

/** `Shown.workspace`, of the parameters of a route. An empty one is that of an address which ended in a slash: it names none. */
export const workspaceIn = (params: unknown): string | undefined =>
  typeof params === 'object' && params !== null && 'workspace' in params && typeof params.workspace === 'string' && params.workspace !== ''
    ? params.workspace
    : undefined;

/** Nothing of the snapshot that its key was found in: a request may take as long as its body, or its answer, does. */
export interface LetIn {
  readonly identity: Identity;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Whose request it is, once its door has found out. */
    letIn: LetIn | null;
  }
}

export interface Entrance {
  readonly sidecar: Sidecar;
  readonly metrics: DecisionMetrics;
  /** Undefined: calls are not traced. */
  readonly tracing: CallTracing | undefined;
  /** For what is read at all doors, and what is made of it. */
  readonly bodies: BodyRoom;
  /** The runs behind every door. */
  readonly sessions: Pick<Sessions, 'find'>;
  /** Asked once for each request, where it can be before a byte of its body is read. */
  readonly enter: (shown: Shown) => LetIn | Barred;
  /** A request that was let in is refused unread after all: there is no room for its body. */
  readonly crowded: (entered: LetIn) => void;
  /** Writes what is still to be said of requests that were refused. */
  readonly close: () => Promise<void>;
}

interface Deps {
  readonly sidecar: Sidecar;
  readonly metrics: DecisionMetrics;
  readonly log: Pick<Log, 'warn'>;
  readonly requestsPerSecond?: number;
  /** Of this sidecar: it stands beside one agent. */
  readonly pins?: Pins;
  readonly tracing?: CallTracing | undefined;
  /** Absent: as large as a sidecar has it. */
  readonly bodies?: BodyRoom;
}

/** Together a tenth of the memory that injection gives a sidecar. */
export const sessionBytes: RoomBytes = { sessions: 32 * 1024 ** 2, narrowings: 16 * 1024 ** 2 };

export function createEntrance({
  sidecar,
  metrics,
  log,
  tracing,
  requestsPerSecond = requestsPerSecondDefault,
  pins = noPins,
  bodies = new BodyRoom(),
}: Deps): Entrance {
  const { clock } = sidecar.govern;
  const limit = createRequestLimit(clock, requestsPerSecond);
  const refused = createRefusedRequests(clock, (lost) => {
    sidecar.unrecorded += lost.requests;
    log.warn({ ...lost }, refusalsLost);
  });
  const note = (by: RefusedBy, { identity }: LetIn): void => refused.note(identity.keyId, by, () => ({ governing: sidecar, identity }));
  return {
    sidecar,
    metrics,
    tracing,
    bodies,
    sessions: pinned(createSessions(sidecar, new SessionRoom(sessionBytes)), pins),
    enter: ({ authorization, workspace }) => {
      const index = sidecar.cell.current;
      if (index === null) return noPolicy;
      const checked = authenticate(index, clock.wall(), authorization, workspace);
      if ('status' in checked) {
        metrics.unauthenticated();
        return checked;
      }
      const full = limit.take(checked.identity.keyId);
      if (full === null) return checked;
      metrics.throttled();
      note('requests', checked);
      return full;
    },
    crowded: (entered) => note('bytes', entered),
    close: () => refused.close(),
  };
}
