// Prepares what a snapshot needs when it becomes current, in a sidecar or a control plane. The work is done at the
// swap, so that the first call after it does not wait.
import { keptKinds } from '../decide/kept-kinds.ts';
import type { Counters } from '../limits/counters.ts';
import { redactorFor } from '../redact/redactor-for.ts';
import type { PolicyCell } from '../snapshot/cell.ts';

/** Returns the listener for `PolicyCell.onSwap`. */
export const prepareWith =
  (counters: Pick<Counters, 'setWindow'>): Parameters<PolicyCell['onSwap']>[0] =>
  ({ settings: { windowSeconds, redaction } }) => {
    counters.setWindow(windowSeconds);
    // Builds the redactor now, because this takes some ten milliseconds.
    redactorFor(redaction, keptKinds(redaction, '').kinds);
  };
