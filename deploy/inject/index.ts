// A pod in, a pod with a sidecar out. The webhook of the control plane and `tollgate inject` make the same change with it.
// Pure: it reads no file and asks no cluster.
export { injectDocument, type Outcome } from './documents.ts';
export { inject } from './inject.ts';
export { diff, type Operation } from './json-patch.ts';
export { type InjectSettings, missingIn, readSettings } from './settings.ts';
