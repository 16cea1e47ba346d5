// Exports the telemetry of a process, for the sidecar and for the control plane: what is sent to a collector, and what
// both count by the same names. Only the parts that are started load the SDK.
export { countDecisions, type DecisionListener } from './decision-metrics.ts';
export { readTelemetrySettings } from './settings.ts';
export { startTelemetry, type Telemetry } from './start.ts';
export { type CallTracing, type Span, type Tracing, untraced } from './tracing.ts';
