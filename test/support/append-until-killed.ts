// A process that appends to a spool until it is killed. Arguments: spool folder, file for the answers. After each
// append it writes the sequence to that file; after every hundred appends it writes one byte to its standard output.
import { openSync, writeSync } from 'node:fs';
import { systemClock } from '../../sidecar/base/clock.ts';
import { openSpool } from '../../sidecar/engine/spool/spool.ts';
import { silentLog } from './silent-log.ts';

const [folder = '', answers = ''] = process.argv.slice(2);
const spool = await openSpool(
  { clock: systemClock, log: silentLog },
  { folder, workspace: 'acme', durability: 'kernel', segmentBytes: 64 * 1024, bytesMax: 1024 * 1024 * 1024 },
);
const fd = openSync(answers, 'w');
for (let n = 1; ; n += 1) {
  const sequence = spool.append(JSON.stringify({ n, pad: 'x'.repeat(n % 700) }));
  writeSync(fd, `${sequence}\n`);
  if (n % 100 === 0) writeSync(1, '.');
}
