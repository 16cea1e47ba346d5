// Makes the given folder and reports the result, in a process of its own: a call that never returns can be ended with
// it.
import { makeFolder } from '../../sidecar/engine/spool/make-folder.ts';

try {
  makeFolder(process.argv[2] ?? '');
  process.stdout.write('made');
} catch (error) {
  process.stdout.write(error instanceof Error ? error.message : String(error));
}
