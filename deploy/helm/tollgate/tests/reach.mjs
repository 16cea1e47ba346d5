// The program of `helm test`: what clients and sidecars need of a release is reached by the names of its Services. Each
// check is repeated for a minute, since a Service follows its pods. One that fails at its end fails the test.
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
  ['it is ready, and has its database', () => answers('/readyz', 200)],
  ['REST has its API document', () => answers('/openapi.json', 200)],
  ['REST refuses a caller without a key', () => answers('/default/admin/keys', 401)],
  [`sidecars reach gRPC at ${grpc}`, () => opens(grpc)],
  ...(enrol ? [[`sidecars reach enrolment at ${enrol}`, () => opens(enrol)]] : []),
  ...(webhook ? [[`API servers reach the webhook at ${webhook}`, () => opens(webhook)]] : []),
];

let failed = 0;
for (const [name, check] of checks) {
  let problem = null;
  for (let left = 30; left > 0; left -= 1) {
    problem = await check().then(
      () => null,
      (error) => error.cause?.message ?? error.message,
    );
    if (problem === null) break;
    await new Promise((done) => setTimeout(done, 2_000));
  }
  if (problem !== null) failed += 1;
  console.log(problem === null ? `ok      ${name}` : `FAILED  ${name}: ${problem}`);
}
console.log(`${checks.length} checks, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
