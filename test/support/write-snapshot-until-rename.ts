// A process that stores a snapshot and is killed while it replaces it: after the new file is written and synced, before
// it replaces the old one. Argument: path of the file.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { snapshotMessage } from './snapshots.ts';

const [path = ''] = process.argv.slice(2);
const { writeSnapshotFile } = await import('../../sidecar/engine/snapshot/disk.ts');
await writeSnapshotFile(path, snapshotMessage({ revision: 1 }));
fs.rename = () => {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
};
syncBuiltinESMExports();
await writeSnapshotFile(path, snapshotMessage({ revision: 2 }));
