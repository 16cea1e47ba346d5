// Defines the parts that the code of one run shares.
import type { TraceIds } from '@tollgate/proto/contract';
import type { Clock, Log } from '@tollgate/sidecar/engine';
import type { Tracing } from '@tollgate/sidecar/telemetry';
import type { Rates } from '../agents/rules/rates.ts';
import type { RunRef } from './rules/run.ts';
import type { Conversation } from './conversation.ts';
import type { RunEvent } from './events.ts';
import type { GovernedAgentRun } from './governance/governed.ts';
import type { Models } from './model.ts';
import type { Money } from './money.ts';
import type { Workbench } from './tools/workbench.ts';
import type { WaitingRound, WaitOutcome } from './waiting.ts';
import type { ApprovalAsk } from '@tollgate/proto/contract';

/** Rates in µ¢ per token; null when a model is not recognised. */
interface RateTable {
  of(model: string): Rates | null;
  /** Returns the highest rates that can apply while a run lasts; null when the model is not recognised. */
  dearestOf(model: string): Rates | null;
}

export interface RunParts {
  readonly run: RunRef;
  readonly model: string;
  /** The system prompt, including the caller's context. */
  readonly system: string;
  readonly governed: GovernedAgentRun;
  readonly workbench: Workbench;
  readonly conversation: Conversation;
  readonly models: Pick<Models, 'reply' | 'outputLimit'>;
  readonly rates: RateTable;
  readonly money: Money;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  /** The trace of the run's own span; null: it has none. */
  readonly trace: TraceIds | null;
  /** Records the progress of the run. */
  readonly note: () => void;
  /** Stores the run as waiting for the answers to these questions, in the order of the calls. */
  readonly wait: (round: WaitingRound, asks: readonly ApprovalAsk[]) => Promise<WaitOutcome>;
  /** See `RunRecords.markContinued`. */
  readonly markContinued: () => Promise<void>;
  /** Resolves when the next event can be emitted, or when the run ends. */
  readonly emit: (event: RunEvent) => Promise<void>;
  /** Aborted when the run must stop. Its reason is a `RunStopped`. */
  readonly signal: AbortSignal;
}
