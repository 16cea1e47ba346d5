// P1: `decide` with caps and limits counted, compared with CASL's `can` on one flat list, and heap growth of an allowed
// call. P2: the same with 2,000 tools compared with 20. Casbin and Cedar answer the same question for orientation.
import { createMongoAbility } from '@casl/ability';
import { preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs';
import { newEnforcer, newModelFromString } from 'casbin';
import { decide } from '../../sidecar/engine/decide/decide.ts';
import { createCounters } from '../../sidecar/engine/limits/counters.ts';
import { createRunUsage } from '../../sidecar/engine/limits/usage.ts';
import { collectGarbage } from './garbage.ts';
import { type BatchTimer, comparePairs, judge, judgeAmount, orient, type Pair, type Result, timeBatch } from './measure.ts';
import { layeredCaller, toolName } from './world.ts';

const layers = 4;
const batch = 1_000_000;
const rounds = 7;
// Tools are not asked in sequence: a cache that holds the next one would make our figures too good.
const stride = 7;

export async function benchDecide(): Promise<readonly Result[]> {
  const names = namesOf(200);
  const ours = timeDecide(200);
  const p1 = comparePairs(ours, timeCasl(names), { batch, rounds });
  const p2 = comparePairs(timeDecide(2_000), timeDecide(20), { batch, rounds });
  const casbin = comparePairs(ours, await timeCasbin(names), { batch: 500, rounds: 3 });
  const cedar = comparePairs(ours, timeCedar(names), { batch: 200, rounds: 3 });
  return [
    result('P1 decide', 'P1 decide, 200 tools × 4 layers', "CASL's can, one flat list", p1),
    heapGrowth(),
    result('P2', 'P2 decide, 2,000 tools', 'decide, 20 tools', p2),
    orient({ name: 'P1 orientation: casbin', value: casbin.ns, unit: 'ns', baseline: "casbin's enforceSync", ratio: casbin.ratio }),
    orient({
      name: 'P1 orientation: Cedar',
      value: cedar.ns,
      unit: 'ns',
      baseline: "Cedar's wasm, policies preparsed",
      ratio: cedar.ratio,
    }),
  ];
}

const result = (id: 'P1 decide' | 'P2', name: string, baseline: string, { ns, ratio }: Pair): Result =>
  judge(id, { name, value: ns, unit: 'ns', baseline, ratio });

const namesOf = (tools: number): readonly string[] => Array.from({ length: tools }, (_, at) => toolName(at));

const nameAt = (names: readonly string[], at: number): string => names[(at * stride) % names.length] ?? '';

/** Decides and counts; a denial would mean that the bench measured something else. */
function timeDecide(tools: number): BatchTimer {
  const caller = layeredCaller(tools);
  const usage = createRunUsage(createCounters(60), { originSub: 'ann', startedAt: 0 });
  const names = namesOf(tools);
  const freshness = { connected: true, heardAt: 0 };
  let calls = 0;
  return timeBatch((at) => {
    const now = ++calls / 1_000;
    const decision = decide(caller, nameAt(names, at), usage, freshness, now);
    if (decision.decision === 'deny') throw new Error(decision.reason);
    usage.record(decision, now);
  });
}

function timeCasl(names: readonly string[]): BatchTimer {
  const rules = Array.from({ length: layers }, () => names.map((subject) => ({ action: 'api', subject }))).flat();
  const ability = createMongoAbility(rules);
  return timeBatch((at) => {
    if (!ability.can('api', nameAt(names, at))) throw new Error('CASL denied');
  });
}

async function timeCasbin(names: readonly string[]): Promise<BatchTimer> {
  const model = newModelFromString(`
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act
[policy_effect]
e = some(where (p.eft == allow))
[matchers]
m = r.sub == p.sub && r.obj == p.obj && r.act == p.act`);
  const enforcer = await newEnforcer(model);
  for (let layer = 0; layer < layers; layer++)
    await enforcer.addPolicies(names.map((name) => [layer === 0 ? 'ann' : `layer${layer}`, name, 'api']));
  return timeBatch((at) => {
    if (!enforcer.enforceSync('ann', nameAt(names, at), 'api')) throw new Error('casbin denied');
  });
}

function timeCedar(names: readonly string[]): BatchTimer {
  const policies = Array.from({ length: layers }, () =>
    names.map((name) => `permit(principal, action == Action::"api", resource == Tool::${JSON.stringify(name)});`),
  ).flat();
  preparsePolicySet('bench', { staticPolicies: policies.join('\n') });
  return timeBatch((at) => {
    const answer = statefulIsAuthorized({
      principal: { type: 'User', id: 'ann' },
      action: { type: 'Action', id: 'api' },
      resource: { type: 'Tool', id: nameAt(names, at) },
      context: {},
      preparsedPolicySetId: 'bench',
      entities: [],
    });
    if (answer.type !== 'success' || answer.response.decision !== 'allow') throw new Error(`Cedar answered ${JSON.stringify(answer)}`);
  });
}

function heapGrowth(): Result {
  const decideMany = timeDecide(200);
  decideMany(batch);
  const before = collectGarbage();
  decideMany(batch);
  const grown = (collectGarbage() - before) / batch;
  return judgeAmount('P1 heap', grown, { name: 'P1 heap growth of an allowed call', value: grown, unit: 'B', baseline: '1 B' });
}
