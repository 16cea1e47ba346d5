// Control planes from their source, one after the other, in a process of its own. Arguments: the variables of each, as JSON. Says with which
// code each ends.
import { runControlPlane } from '../../control-plane/app/main.ts';

for (const env of process.argv.slice(2)) process.stdout.write(`ended ${await runControlPlane(JSON.parse(env))}\n`);
