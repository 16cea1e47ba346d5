// Prepares what a snapshot needs when it becomes current, in a sidecar or a control plane. This runs with the swap, and
// not within the first call after it.
import { keptKinds } from '../decide/kept-kinds.ts';
import type { Counters } from '../limits/counters.ts';
import { redactorFor } from '../redact/redactor-for.ts';
import type { PolicyCell } from '../snapshot/cell.ts';

/** For `PolicyCell.onSwap`. */
export const prepareWith =
  (counters: Pick<Counters, 'setWindow'>): Parameters<PolicyCell['onSwap']>[0] =>
  ({ settings: { windowSeconds, redaction } }) => {
    counters.setWindow(windowSeconds);
    // Building the redactor takes some ten milliseconds.
    redactorFor(redaction, keptKinds(redaction, '').kinds);
  };
