// `npm run bench -- side`: measures what a user notices, with real components: a control plane with its embedded
// PostgreSQL, shipping on, load by wrk, CPU from the process table. `side-S1` and so on are its parts.
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
  /** The tree whose programs are measured. */
  readonly tree: Tree;
  /** How often each pair is measured. */
  readonly rounds: number;
  /** For `startedOften`: how often all programs are started. */
  readonly starts: number;
  /** Without contenders and the first version, for example when two trees are compared. */
  readonly alone: boolean;
}

export type SideBench = (options: SideOptions) => Promise<readonly Row[]> | AsyncIterable<Row>;

/**
 * The parts that load programs in turn. No two starts of a program are equally fast (depending on when code is
 * compiled, and on its addresses in memory). Each of these parts therefore starts all of them several times, and a
 * figure is the median of the starts.
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
