// Exports the hook endpoint, for a control plane that answers hooks itself: the same routes and the same decisions as
// those of a sidecar process.
export type { Shown } from './gateway/entrance.ts';
export type { Entry, HookHost } from './gateway/hooks/host.ts';
export { type HookRoutes, type HookStatus, registerHooks } from './gateway/hooks/hooks.ts';
export { authenticate, badKeys, keyIn, noPolicy } from './gateway/key.ts';
export { createRequestLimit } from './gateway/request-limit.ts';
export { createRefusedRequests, type LostRefusals, refusalsLost, type RefusedKey } from './gateway/refused-requests.ts';
export { SessionRoom } from './gateway/sessions/room.ts';
export { createSessions, type Sessions } from './gateway/sessions/sessions.ts';
export { BodyRoom } from './gateway/body-room.ts';
export { recognised, shareFairly } from './gateway/share-fairly.ts';
