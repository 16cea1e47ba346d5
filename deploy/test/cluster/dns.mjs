// dns.mjs <address> <URL of the API server> <folder of certificates>: answers for the names of Services in
// cluster.local, as the API server knows them at that moment: `<service>.<namespace>.svc`, and for a headless Service
// the addresses of its pods that are ready. No other name exists.
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:https';

const [address, server, folder] = process.argv.slice(2);
const [ca, cert, key] = ['ca.crt', 'admin.crt', 'admin.key'].map((name) => readFileSync(`${folder}/${name}`));
const agent = new Agent({ ca, cert, key, keepAlive: true });
const ask = (path) =>
  new Promise((done, fail) => {
    const asking = get(`${server}${path}`, { agent }, (answer) => {
      let text = '';
      answer.on('data', (data) => (text += data)).on('end', () => done(answer.statusCode === 200 ? JSON.parse(text) : null));
    });
    asking.on('error', fail);
  });

/** Null where the name does not exist. */
async function addressesOf(name) {
  const [, service, namespace] = /^([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.cluster\.local$/.exec(name.toLowerCase()) ?? [];
  if (service === undefined) return null;
  const found = await ask(`/api/v1/namespaces/${namespace}/services/${service}`);
  if (found === null || found.spec.clusterIP !== 'None') return found && found.spec.clusterIPs;
  const slices = await ask(
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=kubernetes.io/service-name=${service}`,
  );
  return slices.items
    .flatMap(({ endpoints }) => endpoints ?? [])
    .flatMap(({ conditions, addresses }) => (conditions.ready ? addresses : []));
}

const typeA = 1;
const pointerToQuestion = 0xc00c;
const secondsToLive = 5;
function answerTo(query, end, addresses) {
  const head = Buffer.from(query.subarray(0, 12));
  // An authoritative answer; 3: the name does not exist.
  head.writeUInt16BE(0x8580 | (addresses === null ? 3 : 0), 2);
  const listed = query.readUInt16BE(end - 4) === typeA ? (addresses ?? []) : [];
  for (const [at, count] of [1, listed.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at);
  const records = listed.map((one) => {
    const record = Buffer.alloc(16);
    for (const [at, value] of [pointerToQuestion, typeA, 1, 0, secondsToLive, 4].entries()) record.writeUInt16BE(value, 2 * at);
    for (const [at, part] of one.split('.').entries()) record[12 + at] = Number(part);
    return record;
  });
  return Buffer.concat([head, query.subarray(12, end), ...records]);
}

const socket = createSocket('udp4');
async function answer(query, { address: asker, port }) {
  const labels = [];
  let at = 12;
  for (; query[at] > 0; at += 1 + query[at]) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
  try {
    socket.send(answerTo(query, at + 5, await addressesOf(labels.join('.'))), port, asker);
  } catch (error) {
    process.stderr.write(`${labels.join('.')} ${error.message}\n`);
  }
}
socket.on('message', (query, from) => void answer(query, from));
socket.bind(53, address);
