// A process that opens a spool, appends one entry by the asynchronous function and has nothing more to do.
import { systemClock } from '../../sidecar/base/clock.ts';
import { openSpool } from '../../sidecar/engine/spool/spool.ts';
import { silentLog } from './silent-log.ts';

const [folder = ''] = process.argv.slice(2);
const spool = await openSpool(
  { clock: systemClock, log: silentLog },
  { folder, workspace: 'acme', durability: 'kernel', bytesMax: 1_000_000 },
);
void spool.appendAsync('"last words"');
