// Exports the parts of redaction that the doors, the runs and the control plane use.
export { createNumbers, type Numbers } from './marks.ts';
export { createRedactor, type PlacedFinding, type Redaction, type Redactor } from './redactor.ts';
export { redactorFor } from './redactor-for.ts';
export type { TextStream } from './stream.ts';
