// `tollgate recover`: a new key of an owner where every one of them was lost. Who may write to the database may have it; nobody else.
import { randomBytes } from 'node:crypto';
import { type Recovered, recoverOwner } from './operations/access/recover-owner.ts';
import { workOnDatabase } from './work-on-database.ts';

export type { Recovered };

export const recoverWorkspace = (
  env: Readonly<Record<string, string | undefined>>,
  workspace: string,
  note: (line: string) => void,
): Promise<Recovered> =>
  workOnDatabase(env, note, ({ pool }) => recoverOwner({ pool, random: (size) => randomBytes(size), clock: () => new Date() }, workspace));
