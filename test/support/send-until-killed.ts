// A process that sends messages about approvals as a control plane does, until it is killed. Argument: the connection, as JSON.
import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { createDeliveries } from '../../control-plane/channels/operations/deliveries.ts';
import { createApprovalKeys } from '../../control-plane/approvals/operations/secrets.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';

const connection = JSON.parse(process.argv[2] ?? '{}');
const pool = new Pool(connection);
const say = (fields: object, message: string): void => void process.stderr.write(`${message} ${JSON.stringify(fields)}\n`);
await createDeliveries({
  pool,
  connection,
  keys: createApprovalKeys({ pool, random: randomBytes, sealer: null }),
  rules: createReach({ allowPrivate: true, commands: [] }, {}),
  chance: () => 0,
  ended: () => undefined,
  log: { warn: say, error: say },
}).start();
