// Which exceptions still loosen what was tightened, against a reference that compares every rule with every other.
import type { DocumentId, Rule } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { looseningOverrides } from '../../control-plane/domain/policies/overrides.ts';
import type { PolicyDocument } from '../../control-plane/domain/policies/policy.ts';

const breadth = ['workspace', 'role', 'agent-type', 'user'];
const ids: readonly DocumentId[] = [
  { layer: 'workspace' },
  { layer: 'role', role: 'member' },
  { layer: 'agent-type', agentType: 'cc::api::' },
  { layer: 'user', uid: 'u', part: 'organisation' },
  { layer: 'user', uid: 'u', part: 'self' },
];
const rule: fc.Arbitrary<Rule> = fc.record(
  {
    permission: fc.constantFrom('allow', 'deny'),
    rateLimit: fc.constantFrom(1, 2, 3),
    transform: fc.constantFrom('log', 'redact'),
    override: fc.constant(true as const),
  },
  { requiredKeys: [] },
);
const tiers = fc.dictionary(fc.constantFrom('api', 'background', 'inert'), rule, { maxKeys: 2 });
const tools = ['a', 'a.', 'a.*', 'a.b', 'a.b.*', 'a.b.c', 'a.b.c/*', '*', 'a*', 'constructor', 'b:*', 'b:c'];
const document: fc.Arbitrary<PolicyDocument> = fc.record(
  {
    mode: fc.constantFrom('enforce', 'audit'),
    defaults: tiers,
    tools: fc.dictionary(fc.constantFrom(...tools), tiers, { maxKeys: 4 }),
    agentTypes: fc.dictionary(fc.constant('x::api::'), tiers, { maxKeys: 1 }),
  },
  { requiredKeys: [] },
);
const change = fc.record({ id: fc.constantFrom(...ids), before: fc.option(document), after: fc.option(document) });
const stored = fc.record({ id: fc.constantFrom(...ids), document });

test('each rule is found that stands against another, and no other', () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(stored, { maxLength: 4 }), fc.array(change, { maxLength: 3 }), (all, changes) => {
      const answered = looseningOverrides(all, changes).map(({ document: name, path }) => `${name} ${path}`);
      found += answered.length;
      expect(answered).toEqual(byComparing(all, changes));
    }),
    { numRuns: 3_000 },
  );
  expect(found).toBeGreaterThan(100);
});

interface Spoken {
  readonly path: string;
  /** Null: every tool. */
  readonly tool: string | null;
  readonly tier: string;
  readonly rule: Rule;
}

function spokenIn(written: PolicyDocument): readonly Spoken[] {
  const of = (path: string, tool: string | null, rules: Readonly<Record<string, Rule>> = {}): readonly Spoken[] =>
    Object.entries(rules).flatMap(([tier, one]) => (tier === 'inert' ? [] : [{ path: `${path}.${tier}`, tool, tier, rule: one }]));
  return [
    ...of('defaults', null, written.defaults),
    ...Object.entries(written.tools ?? {}).flatMap(([tool, rules]) => of(`tools["${tool}"]`, tool, rules)),
    ...Object.entries(written.agentTypes ?? {}).flatMap(([type, rules]) => of(`agentTypes["${type}"]`, null, rules)),
  ];
}

/** What each key speaks for, out of tools that tell all of them apart. */
const universe = [...tools, 'a.x', 'a.b.x', 'a.b.c/x', 'b:x', 'other'];
const speaksFor = (key: string, tool: string): boolean => key === tool || (/[._/:-]\*$/.test(key) && tool.startsWith(key.slice(0, -1)));

function byComparing(
  all: readonly { readonly id: DocumentId; readonly document: PolicyDocument }[],
  changes: readonly { readonly id: DocumentId; readonly before: PolicyDocument | null; readonly after: PolicyDocument | null }[],
): readonly string[] {
  const enforces = (written: PolicyDocument): boolean => written.mode !== 'audit';
  const isSelf = (id: DocumentId): boolean => id.layer === 'user' && id.part === 'self';
  return all.flatMap(({ id, document: written }) =>
    enforces(written) && !isSelf(id)
      ? spokenIn(written)
          .filter(({ rule: exception, tool, tier }) =>
            changes.some(
              ({ id: changed, before, after }) =>
                exception.override === true &&
                after !== null &&
                enforces(after) &&
                breadth.indexOf(id.layer) > breadth.indexOf(changed.layer) &&
                spokenIn(after).some((now) => {
                  const was =
                    (before !== null && enforces(before) ? spokenIn(before) : []).find(({ path }) => path === now.path)?.rule ?? {};
                  if (now.tier !== tier) return false;
                  if (tool !== null && now.tool !== null && !universe.some((one) => speaksFor(tool, one) && speaksFor(now.tool ?? '', one)))
                    return false;
                  const { permission, rateLimit = Infinity, transform } = now.rule;
                  return (
                    (permission === 'deny' && was.permission !== 'deny' && exception.permission === 'allow') ||
                    (transform === 'redact' && was.transform !== 'redact' && exception.transform === 'log') ||
                    (rateLimit < (was.rateLimit ?? Infinity) && (exception.rateLimit ?? -1) > rateLimit)
                  );
                }),
            ),
          )
          .map(({ path }) => `${nameOf(id)} ${path}`)
      : [],
  );
}

function nameOf(id: DocumentId): string {
  if (id.layer === 'workspace') return 'workspace';
  if (id.layer === 'role') return `role:${id.role}`;
  return id.layer === 'agent-type' ? `agent-type:${id.agentType}` : `user:${id.uid}:${id.part}`;
}
