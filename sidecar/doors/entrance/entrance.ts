// Holds the state and the checks that all endpoints of a process share. A request is admitted if three conditions are
// met: the process holds a policy, the key of the request is valid, and this key is within its request limit. A request
// that is refused here writes no audit entry of its own. For a valid key, one later entry states how many of its
// requests were refused.
import type { FastifyRequest } from 'fastify';
import type { Identity } from '../../engine/decide/call.ts';
import { planeTime } from '../../engine/snapshot/plane-time.ts';
import type { Sidecar } from '../sidecar.ts';
import { BodyMemory } from './body-memory.ts';
import { authenticate, type EntranceRefusal, noPolicy } from './key.ts';
import type { DecisionMetrics } from '../../telemetry/decision-metrics.ts';
import type { Log } from '../../base/log.ts';
import { createRequestLimit, requestsPerSecondDefault } from './request-limit.ts';
import { createRefusedRequests, type RefusedBy, refusalsLost } from './refused-requests.ts';
import { peerUidOf } from './peer-uid.ts';
import { noPins, overrideClaims, type Pins } from './pins.ts';
import { type MemoryBytes, SessionMemory } from '../sessions/session-memory.ts';
import { createSessions, type Sessions } from '../sessions/sessions.ts';
import type { CallTracing } from '../../telemetry/tracing.ts';

/** What a request states about its sender. */
export interface ShownCredentials {
  readonly authorization: string | undefined;
  /** The workspace's slug in the path. Undefined: the path has none. */
  readonly workspace: string | undefined;
  /** The uid of the process that opened the connection. Absent: it is not known. */
  readonly peerUid?: number | undefined;
  /** Where the connection comes from. Absent: it is not known, as on a Unix domain socket. */
  readonly address?: string | undefined;
}

/**
 * Returns the workspace in the parameters of a route. If a URL ends in a slash, the
 * parameter is empty and names no workspace.
 */
const workspaceIn = (params: unknown): string | undefined =>
  typeof params === 'object' && params !== null && 'workspace' in params && typeof params.workspace === 'string' && params.workspace !== ''
    ? params.workspace
    : undefined;

/** Returns what a request states about its sender. */
export const shownBy = ({ headers, params, raw }: FastifyRequest): ShownCredentials => ({
  authorization: headers.authorization,
  workspace: workspaceIn(params),
  peerUid: peerUidOf(raw.socket),
  address: raw.socket.remoteAddress,
});

/**
 * An admitted request. It has no reference to the snapshot in which the key was found. Otherwise an old snapshot could
 * stay in memory for a long time, while the body or the answer of a request is sent.
 */
export interface LetIn {
  readonly identity: Identity;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The identity behind the request. Null: its endpoint has not determined it yet. */
    letIn: LetIn | null;
  }
}

export interface Entrance {
  readonly sidecar: Sidecar;
  readonly metrics: DecisionMetrics;
  /** Undefined: calls are not traced. */
  readonly tracing: CallTracing | undefined;
  /** Memory budget for everything that the endpoints read. It includes the parsed form of what was read. */
  readonly bodies: BodyMemory;
  /** The runs of all endpoints. */
  readonly sessions: Sessions;
  /** Checks the key of a request. It is called once for each request, if possible before a byte of its body is read. */
  readonly enter: (shown: ShownCredentials) => LetIn | EntranceRefusal;
  /** Records that an admitted request is refused because there is no memory for its body. The body is not read. */
  readonly crowded: (entered: LetIn) => void;
  /** Writes the pending entries about refused requests. */
  readonly close: () => Promise<void>;
}

interface EntranceParts {
  readonly sidecar: Sidecar;
  readonly metrics: DecisionMetrics;
  readonly log: Pick<Log, 'warn'>;
  readonly requestsPerSecond?: number;
  /** The agent and tier that this sidecar pins, because it serves one agent. */
  readonly pins?: Pins;
  readonly tracing?: CallTracing | undefined;
  /** Absent: a budget of the standard size of a sidecar. */
  readonly bodies?: BodyMemory;
}

/** The values together are a tenth of the memory that injection gives a sidecar. */
export const sessionBytes: MemoryBytes = { sessions: 32 * 1024 ** 2, narrowings: 16 * 1024 ** 2, costs: 4 * 1024 ** 2 };

export function createEntrance({
  sidecar,
  metrics,
  log,
  tracing,
  requestsPerSecond = requestsPerSecondDefault,
  pins = noPins,
  bodies = new BodyMemory(),
}: EntranceParts): Entrance {
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
    sessions: overrideClaims(createSessions(sidecar, new SessionMemory(sessionBytes)), pins),
    enter: ({ authorization, workspace, peerUid }) => {
      const index = sidecar.cell.current;
      if (index === null) return noPolicy;
      const checked = authenticate(index, planeTime(sidecar.govern), authorization, workspace);
      if ('status' in checked) {
        metrics.unauthenticated();
        return checked;
      }
      const full = limit.take(checked.identity.keyId);
      if (full === null) return peerUid === undefined ? checked : { identity: { ...checked.identity, peerUid } };
      metrics.throttled();
      note('requests', checked);
      return full;
    },
    crowded: (entered) => note('bytes', entered),
    close: () => refused.close(),
  };
}
