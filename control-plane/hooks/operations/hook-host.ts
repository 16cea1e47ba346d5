// Answers hooks in the control plane itself. The key is looked up as for every other request. Then the sidecar of its
// workspace in this process decides, with a policy that is at least as new as the key. Session caps are leased from the
// ledger, as limits are. Therefore all control planes and sidecars share one count.
import { AppError, capBounds, hasScope } from '@tollgate/proto/contract';
import type { Governing } from '@tollgate/sidecar/engine';
import {
  authenticate as authenticateBy,
  badKeys,
  createRefusedRequests,
  createRequestLimit,
  createSessions,
  type EntranceRefusal,
  type Entry,
  type HookHost,
  keyIn,
  type LostRefusals,
  noPolicy,
  type RefusedKey,
  type Sessions,
  SessionMemory,
  type ShownCredentials,
} from '@tollgate/sidecar/hooks';
import type { Actor } from '../../access/rules/actor.ts';
import type { Governor } from '../../runs/governance/governor.ts';
import { authenticate } from '../../access/operations/authenticate.ts';
import type { OperationDeps } from '../../access/operation.ts';
import { createSharedLookup } from './shared-lookup.ts';

interface HookHostDeps extends Pick<OperationDeps, 'clock' | 'keyLookups'> {
  readonly governor: Pick<Governor, 'open'>;
  readonly requestsPerSecond: number;
  readonly decided: HookHost['decided'];
  /** Called for refused requests that no entry records. */
  readonly lost: (refusals: LostRefusals) => void;
  /** Absent: calls are not traced. */
  readonly calls?: HookHost['tracing'];
}

/**
 * The memory limits of all workspaces together. Their sum is nearly a tenth of the memory limit that the chart sets for
 * a control plane.
 */
const sessionBytes = { sessions: 64 * 1024 ** 2, narrowings: 32 * 1024 ** 2, costs: 4 * 1024 ** 2 };

export interface ClosingHookHost extends HookHost {
  /** Writes the remaining reports about refused requests. Call it before the governor is closed. */
  close(): Promise<void>;
}

export function createHookHost({ governor, requestsPerSecond, decided, calls, lost, ...deps }: HookHostDeps): ClosingHookHost {
  const clock = { now: () => deps.clock().getTime() };
  const limit = createRequestLimit(clock, requestsPerSecond);
  // A question is an address and a key: the failures of a network are its own.
  const actorOf = createSharedLookup((question) => {
    const [address = '', key = ''] = question.split(' ');
    return authenticate(deps, `Bearer ${key}`, address).catch(refusalOfKey);
  });
  const refused = createRefusedRequests(clock, lost);
  const memory = new SessionMemory(sessionBytes);
  const sessions = new WeakMap<Governing, Sessions>();
  const sessionsOf = (governing: Governing): Sessions => {
    const known = sessions.get(governing) ?? createSessions(governing, memory);
    sessions.set(governing, known);
    return known;
  };

  async function enter({ authorization, workspace, address = '' }: ShownCredentials): Promise<Entry> {
    const shown = keyIn(authorization);
    if (shown === null) return badKeys.missing;
    const actor = await actorOf(`${address} ${shown.text}`);
    if ('status' in actor) return actor;
    if (workspace !== undefined && workspace !== actor.slug) return badKeys.elsewhere;
    if (!hasScope(actor.scopes, 'govern')) return badKeys.unscoped;
    const full = limit.take(actor.keyId);
    if (full !== null) {
      refused.note(actor.keyId, 'requests', () => refusedKeyOf(governor, actor));
      return full;
    }
    const opened = await governor.open(actor, { keptMs: capBounds.maxDurationMs.max });
    opened.release();
    const { governing } = opened.sidecar;
    const index = governing.cell.current;
    if (index === null) return noPolicy;
    const checked = authenticateBy(index, governing.govern.clock.wallTime(), shown.text, workspace);
    return 'identity' in checked ? { governing, sessions: sessionsOf(governing), ...checked } : checked;
  }

  return {
    enter,
    crowded: (entered) => refused.note(entered.identity.keyId, 'bytes', () => entered),
    decided,
    tracing: calls,
    close: () => refused.close(),
  };
}

/** Returns the identity of a key whose requests were refused. Rejects if there is no policy. */
async function refusedKeyOf(governor: HookHostDeps['governor'], actor: Actor): Promise<RefusedKey> {
  const opened = await governor.open(actor);
  opened.release();
  const { governing } = opened.sidecar;
  const index = governing.cell.current;
  if (index === null) throw new AppError({ code: 'unavailable', publicMessage: noPolicy.error });
  const uid = index.keysById.get(actor.keyId)?.uid;
  return { governing, identity: { sub: uid ?? `apikey:${actor.keyId}`, keyId: actor.keyId } };
}

/**
 * Returns the refusal if the text is not a valid key at this moment. Throws every other error, for example when the
 * database is not available.
 */
function refusalOfKey(reason: unknown): EntranceRefusal {
  if (!(reason instanceof AppError)) throw reason;
  const { code, publicMessage: error, retryAfterSeconds = 1 } = reason;
  if (code === 'unauthenticated') return badKeys.unknown;
  if (code === 'rate_limited') return { status: 429, code: 'request_limit', error, retryAfterMs: retryAfterSeconds * 1000 };
  throw reason;
}
