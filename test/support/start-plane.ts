// Starts control planes from their source, one after the other, in a process of its own. Arguments: the variables of
// each, as JSON. Prints the exit code of each.
import { runControlPlane } from '../../control-plane/app/main.ts';

for (const env of process.argv.slice(2)) process.stdout.write(`ended ${await runControlPlane(JSON.parse(env))}\n`);
