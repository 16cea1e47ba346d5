// A control plane reduced to its embedded PostgreSQL, in a process of its own that tests may kill. It takes the
// configuration as JSON in its first argument, prints a line of JSON for each event, and closes on a line on standard
// input. On SIGINT it drains: it sends one more query to the database, then closes.
import { createInterface } from 'node:readline';
import { Client } from 'pg';
import { startEmbedded } from '../../control-plane/database/embedded/start.ts';

const report = (event: string, details: object) => process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);

try {
  const { connection, adopted, close } = await startEmbedded({
    ...JSON.parse(process.argv[2] ?? ''),
    log: (line: string) => report('log', { line }),
  });
  const drain = async () => {
    const client = new Client(connection);
    await client.connect();
    const { rows } = await client.query('SELECT 42 AS answer');
    await client.end();
    await close();
    report('drained', rows[0]);
    process.exit();
  };
  process.on('SIGINT', () => void drain());
  createInterface(process.stdin).once('line', () => void close().then(() => process.exit()));
  report('started', { connection, adopted });
} catch (error) {
  report('failed', { message: String(error) });
}
