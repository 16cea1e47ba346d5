// A control plane that counts what was stored without being counted, until all is counted or it is killed. Argument: the
// database as JSON.
import { Pool } from 'pg';
import { catchUpCounts } from '../../control-plane/statistics/operations/catch-up.ts';

const [connection = '{}'] = process.argv.slice(2);
const pool = new Pool(JSON.parse(connection));
await catchUpCounts({ pool });
await pool.end();
