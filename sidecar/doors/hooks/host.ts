// Defines what the hook routes need from the process that runs them. A sidecar process serves its one workspace, and a
// control plane serves the workspace of the key.
import type { Decision } from '../../engine/decide/decision.ts';
import type { Governing } from '../../engine/govern/governing.ts';
import type { Entrance, LetIn, ShownCredentials } from '../entrance/entrance.ts';
import type { EntranceRefusal } from '../entrance/key.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { CallTracing } from '../../telemetry/tracing.ts';

/** The caller's identity, and the state that decides about its calls. */
export interface AdmittedCaller extends LetIn {
  readonly governing: Governing;
  readonly sessions: Sessions;
}

export type Entry = AdmittedCaller | EntranceRefusal;

export interface HookHost {
  /** Checks the credentials of a caller, before a byte of the body is read. */
  enter(shown: ShownCredentials): Entry | Promise<Entry>;
  /** Records that a request of this caller is refused because there is no memory for its body. The body is not read. */
  crowded(entered: AdmittedCaller): void;
  /** Reports a decision about a call and its duration in ms. */
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
