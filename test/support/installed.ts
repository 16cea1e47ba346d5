// Which programs of the system are here. What needs one that is not is left out, and said to be; where everything is checked that counts
// as a failure (.ci/run).
import { spawnSync } from 'node:child_process';

export const isInstalled = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
