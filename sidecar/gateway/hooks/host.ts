// Who answers hooks: the sidecar process for its one workspace, or a control plane for the workspace of the key.
import type { Decision } from '../../decide/decision.ts';
import type { Governing } from '../../govern/governing.ts';
import type { Entrance, LetIn, Shown } from '../entrance.ts';
import type { Barred } from '../key.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { CallTracing } from '../../telemetry/tracing.ts';

/** Whose call it is, and what decides about it. */
export interface Entered extends LetIn {
  readonly governing: Governing;
  readonly sessions: Pick<Sessions, 'find'>;
}

export type Entry = Entered | Barred;

export interface HookHost {
  /** Asked before a byte of the body is read. */
  enter(shown: Shown): Entry | Promise<Entry>;
  /** A request of this caller is refused unread: there is no room for its body. */
  crowded(entered: Entered): void;
  /** A decision about a call was made, in so many ms. */
  decided(decision: Decision, ms: number): void;
  /** Absent: calls are not traced. */
  readonly tracing?: CallTracing | undefined;
}

export const hookHostOf = ({ sidecar, metrics, tracing, sessions, enter, crowded }: Entrance): HookHost => ({
  enter: (shown) => {
    const entered = enter(shown);
    return 'status' in entered ? entered : { governing: sidecar, sessions, ...entered };
  },
  crowded,
  decided: metrics.decided,
  tracing,
});
