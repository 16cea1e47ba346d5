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
  const countUndecided = undecidedCounter(registry);
  return (decision, ms) => {
    decisions.inc({ decision: decision.decision, code: decision.code, layer: layerOf(decision) });
    seconds.observe(ms / 1000);
    if (decision.undecided !== null) countUndecided(decision.undecided);
  };
}

/** The places that get labels of their own. Further ones are `other`, because policy may have thousands of cases. */
const placesMax = 100;
/** A label is cut at this length. Places contain names of tools. */
const labelMax = 200;

function undecidedCounter(registry: Registry): (undecided: NonNullable<Decision['undecided']>) => void {
  const counter = new Counter({
    name: 'tollgate_conditions_undecided_total',
    help: 'Conditions of cases that could not be evaluated, by the place of the case and by reason',
    labelNames: ['document', 'path', 'reason'],
    registers: [registry],
  });
  const places = new Set<string>();
  const isKnown = (document: string, path: string): boolean => {
    const place = `${document} ${path}`;
    if (places.has(place)) return true;
    if (places.size >= placesMax) return false;
    places.add(place);
    return true;
  };
  return (undecided) => {
    for (const { document, path, reason } of undecided) {
      const labels = isKnown(document, path) ? { document, path } : { document: 'other', path: 'other' };
      counter.inc({ document: labels.document.slice(0, labelMax), path: labels.path.slice(0, labelMax), reason });
    }
  };
}
