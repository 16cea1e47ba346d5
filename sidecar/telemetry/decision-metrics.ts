// Counts decisions. The metrics have the same names in every process: in a sidecar, and in a control plane, which
// counts its own runs and the hooks that it answers. No label contains text of a caller.
import { Counter, Histogram, type Registry } from 'prom-client';
import type { Decision } from '../engine/decide/decision.ts';
import { layerOf } from './decision-layer.ts';

/** Called when a decision was made and recorded, which took `ms` milliseconds. */
export type DecisionListener = (decision: Decision, ms: number) => void;

/** What the doors of a process report. */
export interface DecisionMetrics {
  readonly decided: DecisionListener;
  /** Counts a request without a valid key. */
  unauthenticated(): void;
  /** Counts a request beyond the request limit of its key. */
  throttled(): void;
}

export function countDecisions(registry: Registry): DecisionListener {
  const registers = [registry];
  const decisions = new Counter({
    name: 'tollgate_decisions_total',
    help: 'Decisions, by outcome, reason and the layer of policy that decided',
    labelNames: ['decision', 'code', 'layer'],
    registers,
  });
  const seconds = new Histogram({
    name: 'tollgate_decision_seconds',
    help: 'From a parsed request to its recorded decision',
    buckets: [0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05],
    registers,
  });
  return (decision, ms) => {
    decisions.inc({ decision: decision.decision, code: decision.code, layer: layerOf(decision) });
    seconds.observe(ms / 1000);
  };
}
