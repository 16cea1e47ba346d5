// A bare server on a Unix domain socket: it parses the body and answers a decision, as many bytes as a sidecar does.
import { createServer } from 'node:http';

const [path = ''] = process.argv.slice(2);
const answer = { decision: 'allow', reason: 'allowed: the workspace allows api calls', request_id: 'a'.repeat(21), action: 'pass' };

createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  request.on('end', () => {
    JSON.parse(body);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
}).listen(path, () => process.stdout.write(`  echo  ${path}\n`));
