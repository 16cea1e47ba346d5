// `tollgate-control-plane recover` creates a new key for an owner after all keys were lost. Only people who can write to
// the database can get this key.
import { randomBytes } from 'node:crypto';
import { type OwnerRecovery, recoverOwner } from '../access/operations/recover-owner.ts';
import { workOnDatabase } from './work-on-database.ts';

export type { OwnerRecovery };

export const recoverWorkspace = (
  env: Readonly<Record<string, string | undefined>>,
  workspace: string,
  note: (line: string) => void,
): Promise<OwnerRecovery> =>
  workOnDatabase(env, note, ({ pool }) => recoverOwner({ pool, random: (size) => randomBytes(size), clock: () => new Date() }, workspace));
