// The program of `helm test`: what clients and sidecars need of a release is reached by the names of its Services. A
// check that fails is repeated, since a Service follows its pods.
import { connect } from 'node:net';

const { REST: rest, GRPC: grpc, ENROL: enrol, WEBHOOK: webhook } = process.env;
const answer = (path) => fetch(rest + path, { redirect: 'manual', signal: AbortSignal.timeout(5_000) });

async function answers(path, wanted) {
  const { status } = await answer(path);
  if (status !== wanted) throw new Error(`${rest}${path} answers ${status}, and should answer ${wanted}`);
}
const opens = (address) =>
  new Promise((done, fail) => {
    const [host, port] = address.split(':');
    const socket = connect({ host, port: Number(port), timeout: 5_000 }, () => done(socket.destroy()));
    socket.on('timeout', () => socket.destroy(new Error(`${address} does not answer`))).on('error', fail);
  });

const checks = [
  { name: 'it is ready, and has its database', check: () => answers('/readyz', 200) },
  { name: 'REST has its API document', check: () => answers('/openapi.json', 200) },
  { name: 'REST refuses a caller without a key', check: () => answers('/default/admin/keys', 401) },
  { name: `sidecars reach gRPC at ${grpc}`, check: () => opens(grpc) },
  ...(enrol ? [{ name: `sidecars reach enrolment at ${enrol}`, check: () => opens(enrol) }] : []),
  ...(webhook ? [{ name: `API servers reach the webhook at ${webhook}`, check: () => opens(webhook) }] : []),
];

const problemOf = (check) =>
  check().then(
    () => null,
    (error) => error.cause?.message ?? error.message,
  );
const pauseMs = 2_000;
/** Of all checks together: a minute. */
let retries = 30;
let failed = 0;
for (const { name, check } of checks) {
  let problem = await problemOf(check);
  for (; problem !== null && retries > 0; retries -= 1) {
    await new Promise((done) => setTimeout(done, pauseMs));
    problem = await problemOf(check);
  }
  if (problem !== null) failed += 1;
  process.stdout.write(problem === null ? `ok      ${name}\n` : `FAILED  ${name}: ${problem}\n`);
}
process.stdout.write(`${checks.length} checks, ${failed} failed\n`);
process.exitCode = failed === 0 ? 0 : 1;
