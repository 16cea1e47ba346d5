// `npm run bench -- side`: what a user feels, with everything real: a control plane with its embedded PostgreSQL, shipping on, load by wrk,
// CPU from the process table. `side-S1` and so on are its parts.
import type { Row } from '../measure.ts';
import { benchBehind } from './behind.ts';
import { benchFirstDecision } from './first-decision.ts';
import { benchHookDoor } from './hook-door.ts';
import { benchHttpDoor } from './http-door.ts';
import { benchMcpDoor } from './mcp-door.ts';
import { benchMemory } from './memory.ts';
import { benchSlowControlPlane } from './slow-control-plane.ts';
import type { Tree } from './tree.ts';

export interface SideOptions {
  /** Whose programs are measured. */
  readonly tree: Tree;
  /** How often each pair is measured. */
  readonly rounds: number;
  /** Of `startedOften`: how often all programs are started. */
  readonly starts: number;
  /** Without contenders and the first version, as when two trees are compared. */
  readonly alone: boolean;
}

export type SideBench = (options: SideOptions) => Promise<readonly Row[]> | AsyncIterable<Row>;

/**
 * Those that load programs in turn. No two starts of a program are equally fast (what is compiled when, and where it lies in memory), so each of
 * these starts all of them anew several times, and a figure is the median of the starts.
 */
export const startedOften: ReadonlySet<string> = new Set(['side-S1', 'side-S2', 'side-S3', 'side-S4']);

export const sideBenches: Readonly<Record<string, SideBench>> = {
  'side-S1': benchHookDoor,
  'side-S2': benchBehind,
  'side-S3': benchHttpDoor,
  'side-S4': benchMcpDoor,
  'side-S5': benchMemory,
  'side-S6': benchFirstDecision,
  'side-S8': benchSlowControlPlane,
};
