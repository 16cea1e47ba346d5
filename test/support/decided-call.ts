// Decides one call of a run of the control plane, in a test where no call asks a person.
import type { ToolCall } from '@tollgate/sidecar/engine';
import { type GovernedAgentRun, type GovernedDecision, isAsking } from '../../control-plane/runs/governance/governed.ts';

export async function decidedCall(run: Pick<GovernedAgentRun, 'decide'>, call: ToolCall): Promise<GovernedDecision> {
  const decided = await run.decide(call, { signal: new AbortController().signal, beforeClaim: () => Promise.resolve() });
  if (isAsking(decided)) throw new Error('the call asks a person');
  return decided;
}
