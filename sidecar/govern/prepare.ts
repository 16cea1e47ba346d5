// What a snapshot asks for as it begins to hold, of whoever governs: done with the swap, and not within the first call after it.
import { keptKinds } from '../decide/kept-kinds.ts';
import type { Counters } from '../limits/counters.ts';
import { redactorFor } from '../redact/redactor-for.ts';
import type { PolicyCell } from '../snapshot/cell.ts';

/** For `PolicyCell.onSwap`. */
export const prepareWith =
  (counters: Pick<Counters, 'setWindow'>): Parameters<PolicyCell['onSwap']>[0] =>
  ({ settings: { windowSeconds, redaction } }) => {
    counters.setWindow(windowSeconds);
    // Takes some ten milliseconds to make.
    redactorFor(redaction, keptKinds(redaction, '').kinds);
  };
