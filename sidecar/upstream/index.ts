// Exports the access to tool servers, for the runs of a control plane. Programs are started and addresses are reached
// in the same way as behind the MCP proxy of a sidecar.
export { type AnswerBound, createGuardedFetch, type GuardedFetch, type Trouble } from './guarded-fetch.ts';
export { programEnvironment, type StartedProgram, startProgram } from './program.ts';
export { type AddressRules, systemResolve } from './public-only.ts';
export { UpstreamDown } from './upstream.ts';
export { readMessage } from './wire/server-message.ts';
