// Shows an agent that delegates a task to a second agent. The second agent has at most the tools of the first, and what
// it spends is counted in the budgets of both. Money is reserved before a model call and settled after it, so that the
// spending never exceeds the cap.
import { connect } from '@tollgate/sidecar';
import { ask, grpc, key } from '../plane.ts';

const agent = async (fields: object): Promise<string> =>
  String((await ask('POST', '/api/v1/agents', { model: 'demo/echo', ...fields }))['id']);
const editor = await agent({ name: 'editor', enabledTools: ['web.*'], canDelegate: true, maxBudgetCents: 10 });
const researcher = await agent({ name: 'researcher', enabledTools: ['web.*'], delegatable: true, maxBudgetCents: 5 });

const gate = await connect({ controlPlane: grpc, key });
const run = gate.run({ agent: editor, tier: 'api' });
const task = run.delegate(researcher, { tools: ['web.search'] });

for (const tool of ['web.search', 'web.post']) {
  const verdict = await task.decide({ tool, input: { q: 'tolls' } });
  console.log(tool, verdict.allowed ? 'allowed' : verdict.code);
}

/** Simulates a model call that may cost up to `atMost` cents, and costs half of them. */
function askModel(atMost: number): string {
  const reserved = task.reserveCost(atMost);
  if (!reserved.allowed) return reserved.reason;
  task.settleCost(reserved, reserved.cents / 2);
  return `asked for ${reserved.cents / 2} cents`;
}

console.log(askModel(4));
console.log(askModel(2.5));
console.log(askModel(2));
console.log('the researcher ended by', task.stopped, '- the editor by', run.stopped ?? 'nothing');
await gate.close();
for (const id of [editor, researcher]) await ask('DELETE', `/api/v1/agents/${id}`);
