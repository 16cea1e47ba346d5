// Exports the injection, which takes a pod and returns the pod with a sidecar. The webhook of the control plane and
// `tollgate inject` use it, so both make the same change. Pure: it reads no file and sends no request to a cluster.
export { injectDocument, type Outcome } from './documents.ts';
export { inject } from './inject.ts';
export { diff, type Operation } from './json-patch.ts';
export { type InjectSettings, missingIn, readSettings } from './settings.ts';
