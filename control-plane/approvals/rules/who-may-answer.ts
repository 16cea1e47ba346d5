// Decides who may answer an approval, and whether the answers suffice. Pure.
//
// A person counts only with a credential of their own. A key stands for several persons: the member that it acts as, the
// one who made it and the one who rotated it. Each of them may have its secret.
import { type AskingRule, hasScope, type Role, roles } from '@tollgate/proto/contract';
import { combineTerms } from './terms.ts';

/** The call, as far as it decides who may answer. */
export interface AskingSide {
  readonly rules: readonly AskingRule[];
  /** The subject that the call is made for. */
  readonly originSub: string;
  /** The key that asked. */
  readonly keyId: string;
  /** Who made that key and who rotated it. Empty: it is no key, but a session. */
  readonly keyPersons: readonly string[];
  /** The member that the key acts as. It may ask for another person. Null: a service key, or no key. */
  readonly keyUid: string | null;
}

export interface Answerer {
  /** The member; null: a service key. */
  readonly uid: string | null;
  readonly role: Role;
  readonly scopes: readonly string[];
  /** The key, or `session:<id>` of a signed-in session. */
  readonly keyId: string;
  /** A session that a member opened at the issuer, not with a key. */
  readonly isSignedIn: boolean;
  /** Everyone behind the credential, the member included. */
  readonly persons: readonly string[];
}

/** One answer that approves. */
export interface StoredAnswer {
  readonly uid: string;
  readonly persons: readonly string[];
  readonly via: 'key' | 'session';
  readonly keyId: string;
  readonly memberSince: Date;
  readonly at: Date;
}

/** A member as it is now. */
export interface StandingMember {
  readonly role: Role;
  readonly createdAt: Date;
}

const isAtLeast = (role: Role, least: string): boolean => {
  const at = roles.findIndex((one) => one === least);
  return at >= 0 && roles.indexOf(role) <= at;
};

/** Whether the rule names this member. */
const names = (
  { terms: { approvers } }: AskingRule,
  { uid, role }: { readonly uid: string; readonly role: Role },
  originSub: string,
): boolean =>
  approvers.some((approver) => {
    if (approver === 'subject') return uid === originSub;
    if (approver.startsWith('role:')) return isAtLeast(role, approver.slice('role:'.length));
    return approver === `user:${uid}`;
  });

/** `agents.write`: it starts runs, whose calls are asked for. */
const scopesThatAsk = ['*', 'govern', 'govern.impersonate', 'agents.write', 'sidecar.library', 'sidecar.sync'];

/** The persons who ask: the one that the call is made for, and the member whose key asks. */
export const askersOf = ({ originSub, keyUid }: Pick<AskingSide, 'originSub' | 'keyUid'>): readonly string[] =>
  keyUid === null ? [originSub] : [originSub, keyUid];

/** Returns why this caller may answer none of the rules; null: it may answer some of them. */
export function answerProblem(side: AskingSide, answerer: Answerer): string | null {
  const { uid, keyId, isSignedIn, persons, scopes, role } = answerer;
  const { self, independent, viaSession } = combineTerms(side.rules);
  if (uid === null) return 'a service key answers no approvals; a member must answer with a key or session of their own';
  if (!hasScope(scopes, 'admin.approvals')) return 'this credential lacks the scope admin.approvals';
  if (keyId === side.keyId) return 'the call was asked for with this key, and the key that asks cannot answer';
  if (viaSession && !isSignedIn) return 'the rule accepts only answers of a session that was signed in at the issuer, not of a key';
  const own = askersOf(side).find((one) => persons.includes(one));
  if (own !== undefined) {
    const why = own === side.originSub ? `the call is made for ${own}` : `the call was asked for with a key of ${own}`;
    if (!self) return `${why}, who is one of the persons behind this credential and may not answer for themselves`;
    const asking = scopes.find((scope) => scopesThatAsk.includes(scope));
    if (!isSignedIn && asking !== undefined)
      return `${why}, who may answer it only with a signed-in session or a key that cannot ask; this key has the scope ${asking}`;
  }
  if (independent) {
    const behind = persons.find((person) => side.keyPersons.includes(person));
    if (behind !== undefined) return `${behind} made or rotated the key that asked, and the rule asks for someone independent of it`;
  }
  return side.rules.some((rule) => names(rule, { uid, role }, side.originSub))
    ? null
    : `no rule that asks names ${uid}; the approvers are ${approversOf(side.rules).join(', ')}`;
}

export const approversOf = (rules: readonly AskingRule[]): readonly string[] => [...new Set(rules.flatMap(({ terms }) => terms.approvers))];

/** Returns the digests of the rules that this member may answer. */
export const answeredRules = (side: AskingSide, { uid, role }: { readonly uid: string; readonly role: Role }): readonly string[] =>
  side.rules.filter((rule) => names(rule, { uid, role }, side.originSub)).map(({ digest }) => digest);

/** Returns, for each rule, how many independent answers it has, at most its `need`. `members`: by uid, as they are now. */
export function countByRule(
  side: AskingSide,
  answers: readonly StoredAnswer[],
  members: ReadonlyMap<string, StandingMember>,
): readonly number[] {
  const { self, independent, viaSession } = combineTerms(side.rules);
  const standing = answers.flatMap((answer) => {
    const member = members.get(answer.uid);
    // A member that was removed and made again is another one.
    if (member === undefined || member.createdAt.getTime() !== answer.memberSince.getTime()) return [];
    if (answer.keyId === side.keyId || (viaSession && answer.via !== 'session')) return [];
    if (!self && askersOf(side).some((asker) => answer.persons.includes(asker))) return [];
    if (independent && answer.persons.some((person) => side.keyPersons.includes(person))) return [];
    return [{ uid: answer.uid, role: member.role, persons: answer.persons }];
  });
  return side.rules.map((rule) => {
    const named = standing.filter((answer) => names(rule, answer, side.originSub)).map(({ persons }) => persons);
    return mostDisjoint(named, rule.terms.need);
  });
}

/** Whether every rule has as many answers as it needs. */
export const isApproved = ({ rules }: Pick<AskingSide, 'rules'>, counts: readonly number[]): boolean =>
  rules.every(({ terms }, at) => (counts[at] ?? 0) >= terms.need);

/** Returns the size of the largest choice of sets that share no person, at most `enough`. */
function mostDisjoint(sets: readonly (readonly string[])[], enough: number): number {
  const choose = (at: number, taken: readonly string[], count: number): number => {
    const set = sets[at];
    if (set === undefined || count >= enough) return count;
    const without = choose(at + 1, taken, count);
    if (without >= enough || set.some((person) => taken.includes(person))) return without;
    return Math.max(without, choose(at + 1, [...taken, ...set], count + 1));
  };
  return choose(0, [], 0);
}
