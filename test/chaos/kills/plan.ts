// Decides what breaks, and when. The plan is made from a seed before anything starts, so that the same seed breaks the
// same things in the same order.
import { createRandom, type Random } from './random.ts';

export const sidecarNames = ['sidecar-1', 'sidecar-2', 'sidecar-3'] as const;
export const planeNames = ['plane-a', 'plane-b'] as const;
export type SidecarName = (typeof sidecarNames)[number];
export type PlaneName = (typeof planeNames)[number];
/** A process that is an agent and its sidecar in one. */
export const libraryName = 'library';
export type ProgramName = SidecarName | PlaneName | typeof libraryName;
/** Each sidecar's connection to its control plane, and each control plane's connection to PostgreSQL. */
export type GateName = ProgramName;

export type Fault =
  /** SIGKILL, and a restart after `lastsMs`; for PostgreSQL an immediate stop. */
  | {
      readonly kind: 'kill';
      readonly target: ProgramName | 'postgres';
      /** For an agent: how long after several calls were sent at once. */
      readonly midwayMs: number;
      readonly lastsMs: number;
      /** Restarts with another spool folder. */
      readonly elsewhere: boolean;
    }
  /** SIGSTOP, and SIGCONT after `lastsMs`. */
  | { readonly kind: 'freeze'; readonly target: ProgramName | 'postgres'; readonly lastsMs: number }
  | { readonly kind: 'cut'; readonly target: GateName }
  /** Both ends keep their connections, and receive nothing. */
  | { readonly kind: 'silence'; readonly target: GateName; readonly lastsMs: number }
  | { readonly kind: 'delay'; readonly target: GateName; readonly lastsMs: number; readonly ms: number }
  /** A sidecar's next connections lead to the other control plane. */
  | { readonly kind: 'move'; readonly target: SidecarName | typeof libraryName }
  /** The connections on which control planes are notified of revisions. */
  | { readonly kind: 'deafen'; readonly target: PlaneName };

export interface Step {
  /** Since the previous step began. */
  readonly afterMs: number;
  readonly fault: Fault;
}

const agents = [...sidecarNames, libraryName] as const;
const programs = [...agents, ...planeNames] as const;

export interface PlanOptions {
  readonly seed: number;
  readonly kills: number;
  /** The duration of the whole schedule. */
  readonly ms: number;
}

export function planOf({ seed, kills, ms }: PlanOptions): readonly Step[] {
  const random = createRandom(seed).fork('plan');
  const faults: Fault[] = [];
  for (let n = 0; n < kills; n += 1) {
    faults.push(killing(random));
    if (random.next() < 0.7) faults.push(lesser(random));
  }
  const meanMs = ms / Math.max(1, faults.length);
  return faults.map((fault) => ({ afterMs: Math.round(random.between(0.2, 1.8) * meanMs), fault }));
}

function killing(random: Random): Fault {
  const dice = random.next();
  const target = dice < 0.45 ? random.pick(agents) : dice < 0.8 ? random.pick(planeNames) : 'postgres';
  // Most restart immediately, as under a supervisor; some stay down.
  const lastsMs = random.next() < 0.7 ? random.whole(0, 300) : random.whole(300, 3_000);
  return { kind: 'kill', target, midwayMs: random.whole(0, 12), lastsMs, elsewhere: random.next() < 0.5 };
}

function lesser(random: Random): Fault {
  const dice = random.next();
  if (dice < 0.3) return { kind: 'freeze', target: random.pick([...programs, 'postgres'] as const), lastsMs: random.whole(50, 3_000) };
  if (dice < 0.5) return { kind: 'cut', target: random.pick(programs) };
  if (dice < 0.65) return { kind: 'silence', target: random.pick(programs), lastsMs: random.whole(100, 6_000) };
  if (dice < 0.8) return { kind: 'delay', target: random.pick(programs), lastsMs: random.whole(500, 5_000), ms: random.whole(5, 200) };
  if (dice < 0.9) return { kind: 'move', target: random.pick(agents) };
  return { kind: 'deafen', target: random.pick(planeNames) };
}

export const isPlane = (name: string): name is PlaneName => planeNames.some((plane) => plane === name);
