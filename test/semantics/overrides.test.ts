// Which exceptions still loosen a rule that was tightened. The reference compares every rule with every other rule.
import type { DocumentId } from '@tollgate/proto/contract';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { looseningOverrides } from '../../control-plane/policies/rules/overrides.ts';
import type { PolicyDocument, RuleDocument } from '../../sidecar/engine/compile/policy-document.ts';

const breadth = ['workspace', 'role', 'agent-type', 'user'];
const ids: readonly DocumentId[] = [
  { layer: 'workspace' },
  { layer: 'role', role: 'member' },
  { layer: 'agent-type', agentType: 'cc::api::' },
  { layer: 'user', uid: 'u', part: 'organisation' },
  { layer: 'user', uid: 'v', part: 'organisation' },
  { layer: 'user', uid: 'u', part: 'self' },
];
const rule: fc.Arbitrary<RuleDocument> = fc.record(
  {
    permission: fc.constantFrom('allow', 'ask', 'deny'),
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

test('each override that still loosens a tightened rule is found, and no other', () => {
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

test('where a rule is removed, the longest matching wildcard applies, not a wider one', () => {
  const wider = (short: number, long: number): PolicyDocument => ({
    tools: { 'a.*': { api: { rateLimit: short } }, 'a.b.*': { api: { rateLimit: long } } },
  });
  const exception = { rateLimit: 7, override: true } as const;
  const all = [{ id: { layer: 'role', role: 'member' }, document: { tools: { 'a.b.c': { api: exception } } } }] as const;
  const namedAfter = (after: PolicyDocument) => {
    const before = { tools: { ...after.tools, 'a.b.c': { api: { rateLimit: 9 } } } };
    return looseningOverrides(all, [{ id: { layer: 'workspace' }, before, after }]).map(({ path }) => path);
  };
  expect(namedAfter(wider(9, 5))).toEqual(['tools["a.b.c"].api']);
  expect(namedAfter(wider(5, 9))).toEqual([]);
});

interface RuleAtPath {
  readonly path: string;
  /** Null: every tool. */
  readonly tool: string | null;
  readonly tier: string;
  readonly rule: RuleDocument;
}

function spokenIn(written: PolicyDocument): readonly RuleAtPath[] {
  const of = (path: string, tool: string | null, rules: Readonly<Record<string, RuleDocument>> = {}): readonly RuleAtPath[] =>
    Object.entries(rules).flatMap(([tier, one]) => (tier === 'inert' ? [] : [{ path: `${path}.${tier}`, tool, tier, rule: one }]));
  return [
    ...of('defaults', null, written.defaults),
    ...Object.entries(written.tools ?? {}).flatMap(([tool, rules]) => of(`tools["${tool}"]`, tool, rules)),
    ...Object.entries(written.agentTypes ?? {}).flatMap(([type, rules]) => of(`agentTypes["${type}"]`, null, rules)),
  ];
}

/** Tools that together distinguish the keys: each key matches a different set of them. */
const universe = [...tools, 'a.x', 'a.b.x', 'a.b.c/x', 'b:x', 'other'];
const speaksFor = (key: string, tool: string): boolean => key === tool || (/[._/:-]\*$/.test(key) && tool.startsWith(key.slice(0, -1)));

type Field = 'permission' | 'rateLimit' | 'transform';
const fieldNames: readonly Field[] = ['permission', 'rateLimit', 'transform'];

const stricter = (field: Field, a: RuleDocument, b: RuleDocument): boolean =>
  field === 'permission'
    ? ['deny-ask', 'deny-allow', 'ask-allow'].includes(`${a.permission}-${b.permission}`)
    : field === 'transform'
      ? a.transform === 'redact' && b.transform === 'log'
      : (a.rateLimit ?? Infinity) < (b.rateLimit ?? -Infinity);

/** Returns the tools of `universe` that all of these keys match. */
const shared = (...keys: readonly (string | null)[]): readonly string[] =>
  universe.filter((tool) => keys.every((key) => key === null || speaksFor(key, tool)));

/** Returns the rule of the document that now sets the field for a tool where the rule at `place` set it before. */
function nowAt(rules: readonly RuleAtPath[], place: RuleAtPath, field: Field): RuleDocument | undefined {
  const own = rules.find(({ path }) => path === place.path);
  const wider = place.path.startsWith('tools')
    ? rules
        .filter(
          ({ path, tool, tier }) =>
            path !== place.path && !path.startsWith('agentTypes') && tier === place.tier && covers(tool, place.tool),
        )
        .toSorted((a, b) => (b.tool?.length ?? 0) - (a.tool?.length ?? 0))
    : [];
  return [...(own === undefined ? [] : [own]), ...wider].map(({ rule: one }) => one).find((one) => one[field] !== undefined);
}

const covers = (wide: string | null, narrow: string | null): boolean =>
  wide === null ||
  (wide.endsWith('*') && narrow !== null && wide !== narrow && universe.every((tool) => !speaksFor(narrow, tool) || speaksFor(wide, tool)));

interface DocumentWithId {
  readonly id: DocumentId;
  readonly document: PolicyDocument;
}

interface Change {
  readonly id: DocumentId;
  readonly before: PolicyDocument | null;
  readonly after: PolicyDocument | null;
}

function byComparing(all: readonly DocumentWithId[], changes: readonly Change[]): readonly string[] {
  const enforced = (written: PolicyDocument | null): readonly RuleAtPath[] =>
    written === null || written.mode === 'audit' ? [] : spokenIn(written);
  const isSelf = (id: DocumentId): boolean => id.layer === 'user' && id.part === 'self';
  const broader = (a: DocumentId, b: DocumentId): boolean => breadth.indexOf(a.layer) < breadth.indexOf(b.layer);

  /** True if a field at its place became stricter. */
  const tightens = ({ id: changed, before, after }: Change, id: DocumentId, { rule: exception, tool, tier }: RuleAtPath): boolean =>
    broader(changed, id) &&
    enforced(after).some((now) => {
      const was = enforced(before).find(({ path }) => path === now.path)?.rule ?? {};
      const { permission, rateLimit = Infinity, transform } = now.rule;
      return (
        now.tier === tier &&
        shared(tool, now.tool).length > 0 &&
        ((permission === 'deny' && was.permission !== 'deny' && ['ask', 'allow'].includes(exception.permission ?? '')) ||
          (permission === 'ask' && [undefined, 'allow'].includes(was.permission) && exception.permission === 'allow') ||
          (transform === 'redact' && was.transform !== 'redact' && exception.transform === 'log') ||
          (rateLimit < (was.rateLimit ?? Infinity) && (exception.rateLimit ?? -1) > rateLimit))
      );
    });

  /** True if a field was removed and a stricter rule now applies in its place. */
  const restores = ({ id: changed, before, after }: Change, id: DocumentId, { rule: exception, tool, tier }: RuleAtPath): boolean =>
    !isSelf(changed) &&
    enforced(before).some((was) =>
      fieldNames.some((field) => {
        if (was.tier !== tier || was.rule[field] === undefined || shared(was.tool, tool).length === 0) return false;
        const now = nowAt(enforced(after), was, field);
        if (broader(changed, id) && now !== undefined && stricter(field, now, was.rule) && stricter(field, now, exception)) return true;
        if (was.rule.override !== true || now?.override === true) return false;
        if (id.layer === changed.layer && nameOf(id) !== nameOf(changed)) return false;
        return all.some(
          (one) =>
            broader(one.id, changed) &&
            broader(one.id, id) &&
            enforced(one.document).some(
              (speaker) =>
                speaker.tier === tier &&
                shared(was.tool, tool, speaker.tool).length > 0 &&
                stricter(field, speaker.rule, was.rule) &&
                stricter(field, speaker.rule, exception),
            ),
        );
      }),
    );

  return all.flatMap(({ id, document: written }) =>
    isSelf(id)
      ? []
      : enforced(written)
          .filter(
            (place) => place.rule.override === true && changes.some((change) => tightens(change, id, place) || restores(change, id, place)),
          )
          .map(({ path }) => `${nameOf(id)} ${path}`),
  );
}

function nameOf(id: DocumentId): string {
  if (id.layer === 'workspace') return 'workspace';
  if (id.layer === 'role') return `role:${id.role}`;
  return id.layer === 'agent-type' ? `agent-type:${id.agentType}` : `user:${id.uid}:${id.part}`;
}
