// What a sidecar that lacks a capability receives of a workspace: all of it, with denials in place of the rules that it
// would not understand.
import { type Needs, policyNeeds, snapshotHash } from '@tollgate/proto/contract';
import { policyService } from '@tollgate/proto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WorkspaceRead } from '../../control-plane/workspaces/rules.ts';
import type { View } from '../../control-plane/publish/view.ts';
import { holdWorkspace } from '../../control-plane/publish/holding.ts';
import { publishView } from '../../control-plane/publish/published.ts';
import { viewPartsOf } from '../../control-plane/publish/view-parts.ts';
import { createPolicyCell } from '../../sidecar/engine/snapshot/cell.ts';
import type { PolicyDocument } from '../../sidecar/engine/compile/policy-document.ts';
import { someAgent } from '../support/running.ts';
import { defaults, emptyState } from './workspace.ts';

const later: Needs = { ...policyNeeds, rule: { ...policyNeeds.rule, rateLimit: 'limits' } };
const full: View = { form: 'process' };
const old: View = { form: 'process', lacks: ['limits'] };

const wholeOf = (document: PolicyDocument, revision = 1, frozen = false): WorkspaceRead & { kind: 'whole' } => ({
  kind: 'whole',
  state: emptyState({ revision, frozen, agents: [someAgent()], documents: [{ id: { layer: 'workspace' }, document }] }),
  touchedSince: revision,
  touched: [],
});
const documentIn = (entries: readonly { readonly key: string; readonly value: Buffer }[]): unknown =>
  JSON.parse(String(entries.find(({ key }) => key === 'document/workspace')?.value));

test('a rule that needs a missing capability becomes a denial; everything else is the same as for other sidecars, and the hash differs', () => {
  const document = { defaults: { api: { rateLimit: 5 } }, tools: { safe: { api: { permission: 'allow' as const } } } };
  const holding = holdWorkspace(wholeOf(document, 1, true), defaults);
  const [sent, lowered] = [viewPartsOf(holding, full, later), viewPartsOf(holding, old, later)];
  expect(documentIn(sent.entries())).toMatchObject({ defaults: [['api', { rateLimit: 5 }]] });
  expect(documentIn(lowered.entries())).toMatchObject({
    defaults: [['api', { permission: 'deny' }]],
    tools: [['safe', [['api', { permission: 'allow' }]]]],
  });
  const others = (parts: typeof sent) => parts.entries().filter(({ key }) => key !== 'document/workspace');
  expect(others(lowered)).toEqual(others(sent));
  expect(lowered.hash).toEqual(snapshotHash(lowered.entries()));
  expect(lowered.hash).not.toEqual(sent.hash);
});

test('where policy needs no capability that the sidecar lacks, it is sent the same as the others', () => {
  const holding = holdWorkspace(wholeOf({ defaults: { api: { permission: 'deny' } } }), defaults);
  expect(viewPartsOf(holding, old, later).hash).toEqual(viewPartsOf(holding, full, later).hash);
});

test('a rule with cases is a denial for a sidecar that lacks conditions, and the sidecar takes the snapshot', () => {
  const cases = [{ name: 'large', when: 'args.amount > 1000', permission: 'deny', transform: 'redact' } as const];
  const document: PolicyDocument = {
    tools: { pay: { api: { permission: 'allow', override: true, cases } }, read: { api: { permission: 'allow' } } },
  };
  const holding = holdWorkspace(wholeOf(document), defaults);
  const lacking: View = { form: 'process', lacks: ['conditions'] };
  expect(documentIn(viewPartsOf(holding, lacking).entries())).toMatchObject({
    tools: [
      ['pay', [['api', { permission: 'deny', transform: 'redact' }]]],
      ['read', [['api', { permission: 'allow' }]]],
    ],
  });
  expect(JSON.stringify(documentIn(viewPartsOf(holding, lacking).entries()))).not.toMatch(/cases|override/);
  expect(JSON.stringify(documentIn(viewPartsOf(holding, full).entries()))).toContain('"name":"large"');
  for (const view of [lacking, full]) {
    const { snapshot } = policyService.Sync.responseDeserialize(publishView(holding, view, 0).whole());
    const cell = createPolicyCell({ now: () => 0 }, 'acme');
    expect(snapshot == null ? null : cell.offer(snapshot)).toMatchObject({ ok: true });
  }
});

const rules = fc.record(
  { permission: fc.constantFrom('allow', 'deny'), rateLimit: fc.nat({ max: 3 }), transform: fc.constantFrom('log', 'redact') },
  { requiredKeys: [] },
);
const documents = fc.record({
  defaults: fc.dictionary(fc.constantFrom('api', 'interactive'), rules),
  tools: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.dictionary(fc.constantFrom('api', 'background'), rules)),
}) as fc.Arbitrary<PolicyDocument>;

test('in a current sidecar, deltas of a lowered view lead to the same result as its whole snapshot', () => {
  fc.assert(
    fc.property(fc.array(documents, { minLength: 2, maxLength: 6 }), (writes) => {
      const [first = {}, ...more] = writes;
      const holding = holdWorkspace(wholeOf(first), defaults);
      const cell = createPolicyCell({ now: () => 0 }, 'acme');
      const take = (encoded: Buffer): void => {
        const { snapshot, delta } = policyService.Sync.responseDeserialize(encoded);
        expect(snapshot == null ? delta != null && cell.change(delta) : cell.offer(snapshot)).toMatchObject({ ok: true });
      };
      take(publishView(holding, old, 0, later).whole());
      for (const [at, document] of more.entries()) {
        const revision = at + 2;
        const touched = ['settings', 'document/workspace'].map((key) => ({ revision, key }));
        holding.change({ kind: 'changes', state: { ...wholeOf(document, revision).state, agents: [] }, touched });
        const published = publishView(holding, old, 0, later);
        const from = { epoch: 'e1', number: revision - 1 };
        take(published.delta(from) ?? published.whole());
        expect(Buffer.from(cell.current?.hash ?? [])).toEqual(published.hash);
      }
    }),
  );
});
