// Defines a member of a workspace, and checks uids and e-mails.
import { isUid, type Role, uidProblem } from '@tollgate/proto/contract';
import type { Problem } from '@tollgate/proto/shape';
import { cursorOfText, textInCursor } from '../../base/page.ts';

export interface Member {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
}

const email = /^[^\s@\p{Cc}\p{Cf}\p{Cs}]+@[^\s@\p{Cc}\p{Cf}\p{Cs}]+$/u;
const emailLengthMax = 320;

export function checkUid(uid: string): readonly Problem[] {
  const message = uidProblem(uid);
  return message === null ? [] : [{ path: 'uid', message }];
}

export const checkEmail = (value: string): readonly Problem[] =>
  value.length <= emailLengthMax && email.test(value) ? [] : [{ path: 'email', message: 'must be an e-mail address' }];

// Members are listed by their uid.
export const memberCursorOf = ({ uid }: Member): string => cursorOfText(uid);
export const parseMemberCursor = (cursor: string): string | null => textInCursor(cursor, isUid);
