// A run in the middle of a tool call, and the answers about runs while PostgreSQL is frozen.
import { expect } from 'vitest';
import { ask, type ControlPlane } from '../support/programs.ts';
import { type Lab, ownerKey, type WatchedRun, watchRun } from './lab.ts';
import type { Measure } from './measure.ts';

/** The run is in the middle of one tool call, and another was answered. */
export async function startInTool(lab: Lab, plane: ControlPlane, agent: string, input = 'quick slow'): Promise<WatchedRun> {
  lab.slow.shut();
  const run = await watchRun(plane, agent, input);
  await run.hears('governance', 'box.slow');
  await lab.slow.holds(1);
  return run;
}

interface FrozenRun {
  readonly plane: ControlPlane;
  readonly agent: string;
  readonly run: WatchedRun;
}

/** Every request about runs is answered 503. Steps: `a refusal`. */
export async function refuses({ plane, agent, run }: FrozenRun, measure: Measure): Promise<void> {
  const questions: readonly (readonly [string, object?])[] = [
    [`/api/v1/agents/${agent}/run`, { body: { input: 'quick' } }],
    [`/api/v1/agents/${agent}/run`, { body: { input: 'quick', stream: true } }],
    [`/api/v1/agents/${agent}/runs`],
    [`/api/v1/runs/${run.id}`],
    [`/api/v1/runs/${run.id}/cancel`, { method: 'POST' }],
    ['/default/admin/usage'],
  ];
  const asked = questions.map(async ([path, question]) => {
    const { status } = await measure('a refusal', () => ask(`${plane.rest}${path}`, ownerKey, question));
    return { path, status };
  });
  expect(await Promise.all(asked)).toEqual(questions.map(([path]) => ({ path, status: 503 })));
}
