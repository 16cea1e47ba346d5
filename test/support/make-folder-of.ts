// Makes the folder it is told and says how that ended, in a process of its own: what never returns can be ended with it.
import { makeFolder } from '../../sidecar/engine/spool/make-folder.ts';

try {
  makeFolder(process.argv[2] ?? '');
  process.stdout.write('made');
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message : String(error));
}
