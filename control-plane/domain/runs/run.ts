// A run as it is kept, and the states that it may take: running, and then for good one of completed, failed and cancelled. Which
// of these it becomes is decided once, by whoever ends it first.
import { isInstant } from '../instant.ts';
import { centsFromMicrocents } from './money.ts';

export const runStatuses = ['running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export const isRunStatus = (value: unknown): value is RunStatus => runStatuses.some((one) => one === value);

export interface RunRef {
  readonly workspaceId: number;
  readonly id: string;
}

export const runKey = ({ workspaceId, id }: RunRef): string => `${workspaceId} ${id}`;

/** Why a run must stop: somebody asked, or it is not running any more as far as the database knows. */
export type RunHalt = 'cancelled' | 'ended';

export interface RunSummary {
  readonly id: string;
  readonly agentId: string;
  /** The agent's when the run began. */
  readonly agentName: string;
  readonly model: string;
  /** Of the caller that the root run began with; what it spends is theirs. */
  readonly sub: string;
  /** From the root to this one. */
  readonly lineage: readonly string[];
  readonly status: RunStatus;
  /** As the API names it; null while it runs, and where it failed. */
  readonly stopReason: string | null;
  readonly startedAt: Date;
  readonly endedAt: Date | null;
  /** Somebody asked for its end; it may have come to another one since. */
  readonly cancelRequestedAt: Date | null;
  /** Of a run that goes on, or whose control plane died, as of its last round; null where it died before one. So are the three below. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  /** That were allowed. */
  readonly toolCalls: number | null;
  /** In which it asked for tools. */
  readonly rounds: number | null;
  /** In µ¢, with what the runs below it cost. */
  readonly spent: number;
}

/** How far a run has come. */
export interface RunProgress {
  readonly rounds: number;
  /** That were allowed. */
  readonly toolCalls: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** The same with what was said so far, redacted as policy says. */
export interface ToldProgress extends RunProgress {
  /** JSON. */
  readonly transcript: unknown;
}

export interface Run extends RunSummary {
  readonly request: unknown;
  readonly output: string;
  readonly error: string | null;
  /** JSON; of a run that goes on, or whose control plane died, as of its last round, and null before that. */
  readonly transcript: unknown;
}

/** The error of a run that was left behind. */
export const died = 'the control plane that ran it has gone';

/** And of one whose beginning or end its control plane could not record. */
export const lost = 'the control plane that ran it could not record what became of it';

/** Where a run stands in "newest first". */
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

/** A run as lists show it. */
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

/** And by itself. */
export const shownRun = ({ request, output, error, transcript, ...summary }: Run): Readonly<Record<string, unknown>> => ({
  ...shownSummary(summary),
  request,
  output,
  ...(error === null ? {} : { error }),
  ...(transcript === null ? {} : { transcript }),
});
