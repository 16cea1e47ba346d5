// A control plane reduced to its instance folder, which runs until it is killed. Arguments: the folder, its instance,
// its host.
import { randomUUID } from 'node:crypto';
import { openInstanceFolder } from '../../control-plane/runs/operations/liveness/instance-folder.ts';

const [folder = '', instance = '', host = ''] = process.argv.slice(2);
await openInstanceFolder(folder, { instance, host, randomId: randomUUID });
process.stdout.write('held\n');
setInterval(() => undefined, 1_000_000);
