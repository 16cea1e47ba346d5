// A process that adopts spools on command. Arguments: spool folder. It prints `ready`; for every line on its standard
// input it adopts and prints the ids as JSON. It keeps the adopted spools until its input ends.
import { createInterface } from 'node:readline';
import { systemClock } from '../../sidecar/base/clock.ts';
import { adoptDead } from '../../sidecar/engine/spool/adoption.ts';
import { randomSpoolId } from '../../sidecar/engine/spool/spool.ts';
import { diskFs } from '../../sidecar/engine/spool/spool-fs.ts';
import { silentLog } from './silent-log.ts';

const [folder = ''] = process.argv.slice(2);
process.stdout.write('ready\n');
for await (const _ of createInterface({ input: process.stdin })) {
  const adopted = await adoptDead(
    { fs: diskFs, clock: systemClock, log: silentLog, randomId: randomSpoolId, settle: async () => true },
    { folder, workspace: 'acme', max: 100 },
  );
  process.stdout.write(`${JSON.stringify(adopted.map(({ id }) => id))}\n`);
}
