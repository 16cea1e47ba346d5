// Changes agents. PUT writes the known fields and ignores unknown ones. PATCH also checks the bounds of values and
// rejects unknown fields. A name that changes must hold no hidden characters. Only owners and admins can change
// `suspended`; a member may send it back unchanged. `agents/rules/ceiling.ts` defines which other values a member can
// set. If the agent already has all values, nothing is written: no event, no revision and no new `updatedAt`. The reason
// is that events are permanent and any member can write agents.
import { type Action, isLead } from '../../access/rules/access.ts';
import type { Actor } from '../../access/rules/actor.ts';
import { type Agent, type AgentFields, checkAgentPatch, checkAgentUpdate, renameProblems } from '../rules/agent.ts';
import { accepted, forbidden, refuseIfAny } from '../../base/refusal.ts';
import type { Checked } from '@tollgate/proto/shape';
import { updateAgent as updateStored } from '../store.ts';
import { type OperationDeps, writeOperation } from '../../access/operation.ts';
import { requireAgent } from './read-agents.ts';
import { requireCeiling } from './require-ceiling.ts';
import { requireCapacity } from './require-capacity.ts';

interface AgentChange {
  readonly id: string;
  readonly body: unknown;
}

const changeBy = (action: Action, check: (body: unknown, deps: OperationDeps) => Checked<Partial<AgentFields>>) =>
  writeOperation(action, async (write, { id, body }: AgentChange) => {
    const { client, deps, actor, workspaceId, now } = write;
    const agent = await requireAgent(client, workspaceId, id);
    const fields = accepted(check(body, deps));
    requireBrake(actor, agent, fields);
    // A name that was stored before hidden characters were refused may be sent back.
    if (fields.name !== agent.name) refuseIfAny(renameProblems(fields.name));
    const after = { ...agent, ...fields };
    const target = `agent/${id}`;
    if (isSame(agent, after)) return { result: {}, target, kept: false };
    await requireCeiling(write, agent, after);
    await updateStored(client, workspaceId, id, fields, now);
    await requireCapacity(write, agent, after);
    return { result: {}, target, detail: { fields: Object.keys(fields) } };
  });

/** Whether both agents would be stored in the same form. JSON is compared, because `-0` is stored as `0`. */
const isSame = (before: Agent, after: Agent): boolean => JSON.stringify(before) === JSON.stringify(after);

function requireBrake(actor: Actor, before: Agent, { suspended = before.suspended }: Partial<AgentFields>): void {
  if (suspended !== before.suspended && !isLead(actor.role)) throw forbidden('only an owner or admin may change the field "suspended"');
}

export const updateAgent = changeBy('agent.update', (body) => checkAgentUpdate(body));
export const patchAgent = changeBy('agent.patch', (body, { catalogue }) => checkAgentPatch(body, (model) => catalogue.recognises(model)));
