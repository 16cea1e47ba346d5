// Loads programs in turn, two seconds each, so that a machine whose speed drifts slows all of them. The result is the
// median of the ratios of all turns.
import { judge, median, orient, type Row } from '../measure.ts';
import type { TargetId } from '../targets.ts';
import { Missing } from './missing.ts';
import { cpuDuring } from './stage.ts';
import { loadBy, type Request } from './wrk.ts';

/** The baseline of a row without a contender. */
export const measuredAlone = 'measured alone';

export interface LoadSubject {
  readonly request: Request;
  /** The program that receives the requests. */
  readonly gateway: number;
  /** Programs that do work for it. */
  readonly behind?: readonly number[];
  /** Resolves once nothing is left to ship. */
  readonly rest?: () => Promise<void>;
  /**
   * How many entries the log has, and how many each call adds: fewer would mean that the bench measured something else.
   */
  readonly log?: { readonly entries: () => Promise<number>; readonly perCall: number };
}

/** The results of one load; CPU in seconds per 1,000 calls, times in ms. */
export interface Figures {
  readonly cpu: number;
  readonly behind: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p90: number;
}

async function loadOnce(
  { request, gateway, behind = [], rest, log }: LoadSubject,
  { connections, folder }: Pick<Rounds, 'connections' | 'folder'>,
): Promise<Figures> {
  // The entries of the previous load have been shipped.
  await rest?.();
  const entriesBefore = await log?.entries();
  const { answer, ...cpu } = await cpuDuring(
    { gateway, behind },
    () => loadBy(request, { connections, seconds: turnSeconds }, folder),
    rest,
  );
  const { requests, perSecond, p50, p90 } = answer;
  if (log !== undefined) {
    const entries = (await log.entries()) - (entriesBefore ?? 0);
    // wrk does not count the requests that were in progress when it ended.
    const most = (requests + connections) * log.perCall;
    if (entries < requests * log.perCall || entries > most)
      throw new Error(`${requests} calls of ${request.url} left ${entries} entries, and each leaves ${log.perCall}`);
  }
  return { cpu: (cpu.gateway / requests) * 1000, behind: (cpu.behind / requests) * 1000, perSecond, p50, p90 };
}

export interface Rounds {
  readonly connections: number;
  readonly rounds: number;
  readonly folder: string;
}

/** A program to compare with. Null: no comparison. */
export type Contender = LoadSubject | Missing | null;

/** The results of each turn, in place of the program. */
export interface TurnFigures<Name extends string> {
  readonly ours: readonly Figures[];
  readonly others: Readonly<Record<Name, readonly Figures[] | Missing | null>>;
}

/** Returns the result of `start`, or the `Missing` that it throws. */
export async function unlessMissing<T>(start: () => Promise<T>): Promise<T | Missing> {
  try {
    return await start();
  } catch (error) {
    if (error instanceof Missing) return error;
    throw error;
  }
}

const turnSeconds = 2;
const turnsOfRound = 2;

/** Returns the figures of each program in each turn; one round before is not counted. */
export async function loadInTurn<Name extends string>(
  ours: LoadSubject,
  others: Readonly<Record<Name, Contender>>,
  { rounds, ...how }: Rounds,
): Promise<TurnFigures<Name>> {
  const contenders = Object.entries<Contender>(others);
  const programs = new Map<string, LoadSubject>([['ours', ours]]);
  for (const [name, one] of contenders) if (one !== null && !(one instanceof Missing)) programs.set(name, one);
  const seen = new Map<string, Figures[]>([...programs.keys()].map((name) => [name, []]));
  for (let turn = -turnsOfRound; turn < rounds * turnsOfRound; turn += 1)
    for (const [name, program] of programs) {
      const figures = await loadOnce(program, how);
      if (turn >= 0) seen.get(name)?.push(figures);
    }
  const inOthers = contenders.map(([name, one]) => [name, seen.get(name) ?? one]);
  return { ours: seen.get('ours') ?? [], others: Object.fromEntries(inOthers) };
}

export interface RowOptions {
  /** Null: for orientation. */
  readonly id: TargetId | null;
  readonly name: string;
  readonly unit: string;
  readonly figure: keyof Figures;
  /** Names the baseline, in words. */
  readonly against: string;
}

/**
 * Builds a row of the report. Without a baseline, for example when trees are compared, the row holds the value alone.
 */
export function rowOf(
  { id, name, unit, figure, against }: RowOptions,
  ours: readonly Figures[],
  theirs: readonly Figures[] | Missing | null,
): Row {
  if (theirs instanceof Missing) return { name, notMeasured: theirs.message };
  const value = median(ours.map((each) => each[figure]));
  if (theirs === null) return orient({ name, value, unit, baseline: measuredAlone, ratio: 1 });
  const baseline = `${against}: ${median(theirs.map((each) => each[figure])).toPrecision(3)}`;
  const ratio = median(ours.map((each, turn) => each[figure] / (theirs[turn]?.[figure] ?? Number.NaN)));
  return id === null ? orient({ name, value, unit, baseline, ratio }) : judge(id, { name, value, unit, baseline, ratio });
}
