// The folder that `TOLLGATE_DATA_DIR` names: made before anything is put there, or said in words why not.
import { makeFolder } from '@tollgate/sidecar/embed';
import { reasonOf } from './loggable.ts';

/** As other accounts may pass through to what they may reach in it, such as that of the embedded PostgreSQL. */
const mode = 0o755;

/** Null: it is there. */
export function dataDirProblem(path: string): string | null {
  try {
    makeFolder(path, mode);
    return null;
  } catch (error) {
    return `TOLLGATE_DATA_DIR is ${path}, which cannot be made: ${reasonOf(error)}`;
  }
}
