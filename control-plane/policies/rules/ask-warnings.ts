// Finds rules that ask a person although no member, or too few, may answer. Their calls are denied (`approval_unanswerable`)
// until there are such members. Also finds rules that name channels that do not exist. Pure.
import { isDeepStrictEqual } from 'node:util';
import { childPath, type CompiledMember, type DocumentId, documentKey, keyedPath, rulePath } from '@tollgate/proto/contract';
import {
  type CaseDocument,
  compileAsk,
  eligibleApprovers,
  type PolicyDocument,
  type RuleDocument,
  type TierRulesDocument,
} from '@tollgate/sidecar/engine/compile';
import type { ConditionWarning } from './condition-warnings.ts';
import type { DocumentChange } from './policy-diff.ts';

type Member = Pick<CompiledMember, 'uid' | 'role'>;

/** A rule or case that asks, and that a write added or changed. */
export interface WrittenAsk {
  readonly id: DocumentId;
  readonly path: string;
  readonly asking: RuleDocument | CaseDocument;
}

const warningsMax = 50;
const namesMax = 5;

export function writtenAsks(changes: readonly DocumentChange[]): readonly WrittenAsk[] {
  return changes.flatMap(({ id, before, after }) => {
    const old = new Map(asksIn(before).map(({ path, asking }) => [path, asking]));
    return asksIn(after).flatMap(({ path, asking }) => (isDeepStrictEqual(old.get(path), asking) ? [] : [{ id, path, asking }]));
  });
}

const asksIn = (document: PolicyDocument | null): readonly Omit<WrittenAsk, 'id'>[] => [
  ...asksOf(document?.defaults ?? {}, 'defaults', null),
  ...(['tools', 'agentTypes'] as const).flatMap((section) =>
    Object.entries(document?.[section] ?? {}).flatMap(([key, rules]) => asksOf(rules, section, key)),
  ),
];

const asksOf = (
  rules: TierRulesDocument,
  section: 'defaults' | 'tools' | 'agentTypes',
  key: string | null,
): readonly Omit<WrittenAsk, 'id'>[] =>
  Object.entries(rules).flatMap(([tier, rule]) => {
    const path = rulePath(section, key, tier);
    const places = [
      { path, asking: rule },
      ...(rule.cases ?? []).map((one) => ({ path: keyedPath(childPath(path, 'cases'), one.name), asking: one })),
    ];
    return places.filter(({ asking }) => asking.permission === 'ask');
  });

/** Returns the warnings, in the order of the asks. At most 50. `members`: of the workspace. */
export const askWarnings = (asks: readonly WrittenAsk[], members: readonly Member[]): readonly ConditionWarning[] =>
  asks
    .flatMap(({ id, path, asking }) => {
      const message = unanswerable(id, asking, members);
      return message === null ? [] : [{ document: documentKey(id), path, message }];
    })
    .slice(0, warningsMax);

/** Returns the warnings about channels that do not exist, in the order of the asks. At most 50. `channels`: of the workspace. */
export const channelWarnings = (asks: readonly WrittenAsk[], channels: readonly string[]): readonly ConditionWarning[] =>
  asks
    .flatMap(({ id, path, asking }) => {
      const missing = (compileAsk(asking, null)?.channels ?? []).filter((name) => !channels.includes(name));
      const message = `names the ${missing.length === 1 ? 'channel' : 'channels'} ${missing.join(', ')}, and there is no such channel: if none of its channels exists, the default channels receive the messages`;
      return missing.length === 0 ? [] : [{ document: documentKey(id), path, message }];
    })
    .slice(0, warningsMax);

function unanswerable(id: DocumentId, asking: WrittenAsk['asking'], members: readonly Member[]): string | null {
  const author = id.layer === 'user' && id.part === 'self' ? id.uid : null;
  const terms = compileAsk(asking, author);
  if (terms === null) return null;
  const subjects = membersOf(id, members);
  const { need } = terms;
  const tooFew = (count: number): string => (count === 0 ? 'no member may answer' : `${count} of ${need} needed members may answer`);
  // A call can also be made for no one: by a service key.
  const others = eligibleApprovers(terms, members, null).length;
  const isBySubject = terms.approvers.includes('subject');
  if (others < need && !isBySubject && subjects.every(({ uid }) => eligibleApprovers(terms, members, uid).length < need))
    return `asks, but ${tooFew(others)}: its calls are denied (approval_unanswerable)`;
  const without = subjects.filter(({ uid }) => eligibleApprovers(terms, members, uid).length < need).map(({ uid }) => uid);
  if (without.length === 0) return null;
  const named = without.slice(0, namesMax).join(', ');
  const more = without.length > namesMax ? ` and ${without.length - namesMax} more` : '';
  return `asks, but too few members may answer for calls made for ${named}${more}: these are denied (approval_unanswerable)`;
}

/** The members that calls under the document can be made for. */
function membersOf(id: DocumentId, members: readonly Member[]): readonly Member[] {
  switch (id.layer) {
    case 'role':
      return members.filter(({ role }) => role === id.role);
    case 'user':
      return members.filter(({ uid }) => uid === id.uid);
    case 'workspace':
    case 'agent-type':
      return members;
  }
}
