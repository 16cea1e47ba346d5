// Verifies messages about approvals, and posts them to the incoming webhook of a chat. See README.md.
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const { CHANNEL_SECRETS = '', CHAT_URL = '', HOST = '127.0.0.1', PORT = '8090' } = process.env;
const verifiers = CHANNEL_SECRETS.split(',').map((secret) => new Webhook(secret.trim()));
const seen = new Set();
const posting = new Set();
const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '`': "'" };
/** An agent may have chosen a name. As code, it is neither a mention nor a link. */
const code = (text) => `\`${String(text).replaceAll(/[&<>`]/g, (one) => escapes[one])}\``;
const about = ({ tool, sub, agent, why, command }) => `${code(tool)} for ${code(sub)} by ${code(agent)}: ${code(why)}. ${code(command)}`;
const others = { 'approval.digest': ({ count }) => `${count} more calls wait`, 'approval.test': () => 'this channel works' };
const verified = (verifier, body, headers) => {
  try {
    return [verifier.verify(body, headers)];
  } catch {
    return [];
  }
};

async function receive({ headers, request }) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) if ((body += chunk).length > 65_536) return 413;
  const [message] = verifiers.flatMap((verifier) => verified(verifier, body, headers));
  if (message === undefined) return 401; // Forged, or older than five minutes.
  const id = headers['webhook-id'];
  if (seen.has(id)) return 200; // It was posted already.
  if (posting.has(id)) return 503; // It is being posted at this moment: Tollgate sends it again.
  const text = `${message.type}: ${(others[message.type] ?? about)(message.data)}`;
  const headersOfPost = { 'content-type': 'application/json' };
  // Tollgate waits for 10 s.
  const post = { method: 'POST', headers: headersOfPost, body: JSON.stringify({ text }), signal: AbortSignal.timeout(8_000) };
  posting.add(id);
  const { ok } = await fetch(CHAT_URL, post).catch(() => ({ ok: false }));
  posting.delete(id);
  if (ok && seen.add(id).size > 10_000) seen.delete([...seen][0]);
  return ok ? 204 : 502; // Tollgate sends it again.
}

const server = createServer((request, response) => {
  receive({ headers: request.headers, request }).then(
    (status) => response.writeHead(status).end(),
    () => response.destroy(),
  );
});
server.listen(Number(PORT), HOST, () => process.stdout.write(`listening on http://${HOST}:${server.address().port}\n`));
