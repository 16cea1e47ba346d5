// Creates the folder that `TOLLGATE_DATA_DIR` names before any file is written there, or explains why it cannot be
// created.
import { makeFolder } from '@tollgate/sidecar/engine';
import { reasonOf } from '../base/loggable.ts';

/**
 * Other accounts, such as that of the embedded PostgreSQL, must be able to pass through this folder to the files that
 * they can access.
 */
const mode = 0o755;

/** Creates the folder. Returns why it cannot be created; null: the folder exists. */
export function dataDirProblem(path: string): string | null {
  try {
    makeFolder(path, mode);
    return null;
  } catch (error) {
    return `TOLLGATE_DATA_DIR is ${path}: ${reasonOf(error)}`;
  }
}
