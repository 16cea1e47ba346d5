// The members of a workspace.
import { isUid, type Role } from '@tollgate/proto/contract';
import type { Problem } from '@tollgate/proto/shape';

export interface Member {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
}

const email = /^[^\s@\p{Cc}\p{Cf}\p{Cs}]+@[^\s@\p{Cc}\p{Cf}\p{Cs}]+$/u;
const emailLengthMax = 320;

const uidForm = '1 to 128 of A-Z a-z 0-9 _ . @ | -';

/** A segment of a path cannot be `.` or `..`, and a key of an accepted JSON body cannot be `__proto__`. */
const unusable: ReadonlySet<string> = new Set(['__proto__', '.', '..']);

/** Why a uid is not permitted, in words that follow its place; null if it is permitted. */
export function uidProblem(uid: string): string | null {
  if (!isUid(uid)) return `must be ${uidForm}`;
  return unusable.has(uid) ? `must not be ${[...unusable].join(', ')}: a path or a document cannot contain this uid` : null;
}

export function checkUid(uid: string): readonly Problem[] {
  const message = uidProblem(uid);
  return message === null ? [] : [{ path: 'uid', message }];
}

export const checkEmail = (value: string): readonly Problem[] =>
  value.length <= emailLengthMax && email.test(value) ? [] : [{ path: 'email', message: 'must be an e-mail address' }];
