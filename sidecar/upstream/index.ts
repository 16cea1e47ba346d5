// What a control plane uses to reach tool servers, so that its runs reach them exactly as the MCP proxy of a sidecar does.
export { type AnswerBound, createGuardedFetch, type GuardedFetch, type Trouble } from './guarded-fetch.ts';
