// Exports the hook endpoint, for a control plane that answers hooks itself: the same routes and the same decisions as
// those of a sidecar process.
export type { ShownCredentials } from '../entrance/entrance.ts';
export type { Entry, HookHost } from './host.ts';
export { centsMax } from '../../engine/limits/costs.ts';
export { listMax, waitMsMax } from './hook-request.ts';
export { type HookRoutes, type HookStatus, registerHooks } from './hooks.ts';
export { authenticate, badKeys, type EntranceRefusal, keyIn, noPolicy } from '../entrance/key.ts';
export { createRequestLimit } from '../entrance/request-limit.ts';
export { createRefusedRequests, type LostRefusals, type RefusedKey, refusalsLost } from '../entrance/refused-requests.ts';
export { SessionMemory } from '../sessions/session-memory.ts';
export { createSessions, type Sessions } from '../sessions/sessions.ts';
export { BodyMemory } from '../entrance/body-memory.ts';
export { recognised, shareFairly } from '../entrance/share-fairly.ts';
