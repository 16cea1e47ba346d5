// Defines a run as it is stored, and its states. A run is first running, and then permanently completed, failed or
// cancelled. The first process that ends the run decides which of these states it gets. A root run may wait for a person
// in between, any number of times: running → waiting → running. No process executes a waiting run.
import { isInstant } from '../../base/instant.ts';
import { centsFromMicrocents } from './money.ts';

export const runStatuses = ['running', 'waiting', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export const isRunStatus = (value: unknown): value is RunStatus => runStatuses.some((one) => one === value);

export interface RunRef {
  readonly workspaceId: number;
  readonly id: string;
}

export const runKey = ({ workspaceId, id }: RunRef): string => `${workspaceId} ${id}`;

/** Why a run must stop: its cancellation was requested, or the database records it as not running any more. */
export type RunHalt = 'cancelled' | 'ended';

export interface RunSummary {
  readonly id: string;
  readonly agentId: string;
  /** The agent's name when the run began. */
  readonly agentName: string;
  readonly model: string;
  /** The subject of the caller that started the root run. It pays for the run. */
  readonly sub: string;
  /** The ids of the runs from the root run to this run. */
  readonly lineage: readonly string[];
  readonly status: RunStatus;
  /** The name of the stop reason in the API; null while the run is running, and if it failed. */
  readonly stopReason: string | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** When the cancellation of the run was requested. The run may have ended for another reason since then. */
  readonly cancelRequestedAt: Date | null;
  /**
   * The tokens that were sent to the model. While the run is running, this is the value after its last round. If the
   * control plane of the run died, this is also the value after the last round, or null if there was no round. The same
   * applies to the three fields below.
   */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** Only calls that were permitted. */
  readonly toolCalls: number | null;
  /** Rounds in which the model requested tools or paused its reply. */
  readonly rounds: number | null;
  /** In µ¢, including the cost of the runs below it. */
  readonly spent: number;
}

export interface RunProgress {
  readonly rounds: number;
  /** Only calls that were permitted. */
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** The progress of a run with the transcript so far, redacted as policy defines. */
export interface ToldProgress extends RunProgress {
  /** A JSON value. */
  readonly transcript: unknown;
}

export interface Run extends RunSummary {
  readonly request: unknown;
  readonly output: string;
  readonly error: string | null;
  /** The approvals that a waiting run waits for; empty for every other run. */
  readonly approvalIds: readonly string[];
  /**
   * A JSON value. While the run is running, or if its control plane died, it is the transcript after the last round;
   * null before the first round.
   */
  readonly transcript: unknown;
}

/**
 * Heartbeats are written every second. An instance that has sent none for this long, in ms, is dead, frozen, or cannot reach
 * the database.
 */
export const silenceMs = 15_000;

/** The end of a run of which only the records are known. The stored progress stays. */
export const nothingKnown = {
  status: 'failed',
  stopReason: null,
  output: '',
  promptTokens: null,
  completionTokens: null,
  toolCalls: null,
  rounds: null,
  transcript: undefined,
} as const;

/** The error of an abandoned run. */
export const died = 'the control plane of the run ended unexpectedly';

/** The error of a run if its control plane could not record the beginning or the end of the run. */
export const lost = 'the control plane of the run could not record its result';

/** The position of a run in the order "newest first". */
export interface RunPosition {
  readonly startedAt: Date;
  readonly id: string;
}

const cursorForm = /^(\d{1,15})\.([A-Za-z0-9]{1,64})$/;

export const runCursorOf = ({ startedAt, id }: RunPosition): string => Buffer.from(`${startedAt.getTime()}.${id}`).toString('base64url');

export function parseRunCursor(text: string): RunPosition | null {
  const [, ms, id] = cursorForm.exec(Buffer.from(text, 'base64url').toString('latin1')) ?? [];
  return id === undefined || !isInstant(Number(ms)) ? null : { startedAt: new Date(Number(ms)), id };
}

/** Returns a run in the form in which lists show it. */
export function shownSummary({ lineage, startedAt, endedAt, ...run }: RunSummary): Readonly<Record<string, unknown>> {
  const parentRunId = lineage.at(-2);
  return {
    id: run.id,
    agentId: run.agentId,
    agentName: run.agentName,
    sub: run.sub,
    ...(parentRunId === undefined ? {} : { parentRunId }),
    conversationId: lineage[0] ?? run.id,
    status: run.status,
    ...(run.stopReason === null ? {} : { stopReason: run.stopReason }),
    startedAt: startedAt.toISOString(),
    ...(endedAt === null ? {} : { endedAt: endedAt.toISOString() }),
    ...(run.cancelRequestedAt === null ? {} : { cancelRequestedAt: run.cancelRequestedAt.toISOString() }),
    usage: {
      ...(run.promptTokens === null ? {} : { promptTokens: run.promptTokens }),
      ...(run.completionTokens === null ? {} : { completionTokens: run.completionTokens }),
      ...(run.toolCalls === null ? {} : { toolCallCount: run.toolCalls }),
      ...(run.rounds === null ? {} : { roundCount: run.rounds }),
      estimatedCostCents: centsFromMicrocents(run.spent),
      model: run.model,
      ...(endedAt === null ? {} : { durationMs: endedAt.getTime() - startedAt.getTime() }),
    },
  };
}

/** Returns a run with all details, in the form in which the answer for a single run shows it. */
export const shownRun = ({ request, output, error, approvalIds, transcript, ...summary }: Run): Readonly<Record<string, unknown>> => ({
  ...shownSummary(summary),
  request,
  output,
  ...(error === null ? {} : { error }),
  ...(approvalIds.length === 0 ? {} : { approvalIds }),
  ...(transcript === null ? {} : { transcript }),
});
