// Listens on a Unix domain socket until it is killed. Argument: the path. Prints a line when it listens.
import { createServer } from 'node:net';

createServer().listen(process.argv[2], () => process.stdout.write('listening\n'));
