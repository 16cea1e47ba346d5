// The people of a workspace.
import { isUid, type Role } from '@tollgate/proto/contract';
import type { Problem } from '../shape.ts';

export interface Member {
  readonly uid: string;
  readonly email: string;
  readonly role: Role;
  readonly createdAt: Date;
}

const email = /^[^\s@\p{Cc}\p{Cf}]+@[^\s@\p{Cc}\p{Cf}]+$/u;
const emailLengthMax = 320;

export const uidForm = '1 to 128 of A-Z a-z 0-9 _ . @ | -';

export const checkUid = (uid: string): readonly Problem[] => (isUid(uid) ? [] : [{ path: 'uid', message: `must be ${uidForm}` }]);

export const checkEmail = (value: string): readonly Problem[] =>
  value.length <= emailLengthMax && email.test(value) ? [] : [{ path: 'email', message: 'must be an e-mail address' }];
