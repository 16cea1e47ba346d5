// Telemetry of a process, for the sidecar's and for the control plane's: what is sent to a collector, and what both count by the same
// names. The SDK is loaded by what is started, and not before.
export { countDecisions, type Decided } from './decision-metrics.ts';
export { readTelemetrySettings } from './settings.ts';
export { startTelemetry, type Telemetry } from './start.ts';
export { type CallTracing, type Span, type Tracing, untraced } from './tracing.ts';
