// Records an operation in the programs that it uses, as coverage.ts defines it. Called by ways.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { listPassed, operationCount, readRecording, type Recording } from './coverage.ts';
import type { Program } from './programs.ts';

const warmUpCount = 5;
/**
 * After an operation: longer than the time for which entries and acknowledgements are collected (25 ms), so that each
 * travels alone.
 */
const restMs = 200;

/** `at` counts up from 0. */
export type Operation = (at: number) => Promise<unknown>;

/**
 * The functions that each program ran for the operation, in the order of `programs`. `rootUrl` as for `readRecording`.
 */
export async function recordOperation(programs: readonly Program[], rootUrl: string, operation: Operation): Promise<readonly Recording[]> {
  const take = (): Promise<readonly Recording[]> =>
    Promise.all(programs.map(async (program) => readRecording(await program.takeCoverage(), rootUrl)));
  for (let at = 0; at < warmUpCount; at++) {
    await operation(at);
    await delay(restMs);
  }
  await take();
  const busy: (readonly Recording[])[] = [];
  const idle: (readonly Recording[])[] = [];
  let lastedMs = 0;
  const recordBusy = async (at: number): Promise<void> => {
    const beganAt = performance.now();
    await operation(warmUpCount + at);
    await delay(restMs);
    lastedMs = performance.now() - beganAt;
    busy.push(await take());
  };
  const recordIdle = async (): Promise<void> => {
    await delay(lastedMs);
    idle.push(await take());
  };
  for (let at = 0; at < operationCount; at += 2) {
    await recordBusy(at);
    await recordIdle();
    // The order alternates; otherwise a timer with the period of the pair would run with operations only.
    await recordIdle();
    await recordBusy(at + 1);
  }
  return programs.map((_, index) => listPassed(ofProgram(busy, index), ofProgram(idle, index)));
}

const ofProgram = (intervals: readonly (readonly Recording[])[], index: number): readonly Recording[] =>
  intervals.map((recordings) => recordings[index] ?? new Map());
