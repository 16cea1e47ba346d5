// Exports the parts of a sidecar that the control plane uses to govern its own runs. The control plane has policy and
// the audit log in its own process, but its decisions, entries and spool work as in every sidecar.
export type { Approvals, AskedAnswer } from './approvals/approval-keeper.ts';
export { type Clock, systemClock } from '../base/clock.ts';
export { bindCaller } from './decide/bind.ts';
export type { Claim, Hop } from './decide/call.ts';
export { delegationRefusal } from './decide/chain.ts';
export type { Decision, StopReason } from './decide/decision.ts';
export { planFor } from './decide/plan.ts';
export { openEngine } from './engine.ts';
export { type Delivery, deliver, type Outcome } from './govern/deliver.ts';
export { judge, type JudgeOptions, type ToolCall } from './govern/govern.ts';
export type { GovernDeps, Governing } from './govern/governing.ts';
export { offers } from './govern/offers.ts';
export { recorded } from './govern/recorded.ts';
export { callerOf, childOf, type EarlierUse, type GovernedRun, openRun, rebind, stopOf } from './govern/run.ts';
export { type Denial, denialOf, denialText, type Permit, type Verdict } from './govern/verdict.ts';
export type { Log } from '../base/log.ts';
export { parseStrictText } from './json/strict-json.ts';
export { type DirectBatch, openDirectStream } from './ship/direct-stream.ts';
export type { ShipperStatus } from './ship/shipper.ts';
export { createPolicyCell, type PolicyCell } from './snapshot/cell.ts';
export { takeHold } from './spool/hold.ts';
export { makeFolder } from './spool/make-folder.ts';
export type { SpoolRecord } from './spool/record.ts';
export { listSpools } from './spool/spool-folder.ts';
export type { LeaseStatus } from './link/lease-keeper.ts';
