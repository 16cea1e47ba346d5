// The receiver of examples/approvals-chat, as a program: it verifies deliveries, and posts each to a chat once.
import { spawn } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startReceiver } from './receiver.ts';

const [secret, second] = [newSecret(), newSecret()];
const program = fileURLToPath(new URL('../../../examples/approvals-chat/receiver.js', import.meta.url));
let chat: Awaited<ReturnType<typeof startReceiver>>;
let origin = '';
let stop = async (): Promise<void> => undefined;

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

beforeAll(async () => {
  chat = await startReceiver();
  const env = { PATH: process.env['PATH'], CHANNEL_SECRETS: `${secret},${second}`, CHAT_URL: `${chat.origin}/hook`, PORT: '0' };
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  stop = async () => {
    child.kill();
    await ended;
    await chat.close();
  };
  for await (const line of child.stdout) {
    origin = /http:\S+/.exec(String(line))?.[0] ?? '';
    break;
  }
});
afterAll(() => stop());

const data = { tool: '<!channel> `rm`', sub: 'ann', agent: 'bot', why: 'large sum', command: 'tollgate approvals show a1' };
const body = JSON.stringify({ type: 'approval.asked', timestamp: new Date(0).toISOString(), data });

interface Delivered {
  readonly id?: string;
  readonly ageSeconds?: number;
  readonly by?: string;
  readonly sent?: string;
}
let ids = 0;
async function deliver({ id = `msg_${(ids += 1)}`, ageSeconds = 0, by = secret, sent = body }: Delivered): Promise<number> {
  const time = String(Math.floor(Date.now() / 1_000) - ageSeconds);
  const signature = createHmac('sha256', Buffer.from(by.slice('whsec_'.length), 'base64'))
    .update(`${id}.${time}.${body}`)
    .digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
  return (await fetch(origin, { method: 'POST', headers, body: sent })).status;
}

test('a delivery is posted once, with names that are neither mentions nor links; a replay is not posted', async () => {
  expect(await deliver({ id: 'msg_once' })).toBe(204);
  const { text } = JSON.parse((await chat.next()).body) as { text: string };
  expect(text).toBe("approval.asked: `&lt;!channel&gt; 'rm'` for `ann` by `bot`: `large sum`. `tollgate approvals show a1`");
  expect(await deliver({ id: 'msg_once' })).toBe(200);
  expect(await deliver({ by: second })).toBe(204);
  await chat.next();
  expect(chat.deliveries).toHaveLength(2);
});

test('the same delivery twice at the same time is posted once', async () => {
  const before = chat.deliveries.length;
  chat.replies.push(null);
  const first = deliver({ id: 'msg_both' });
  await chat.next();
  expect(await deliver({ id: 'msg_both' })).toBe(503);
  expect(chat.deliveries).toHaveLength(before + 1);
  chat.dropAll();
  expect(await first).toBe(502);
  expect(await deliver({ id: 'msg_both' })).toBe(204);
});

test('a forged, changed, late or early delivery is refused', async () => {
  const before = chat.deliveries.length;
  expect(await deliver({ by: newSecret() })).toBe(401);
  expect(await deliver({ sent: body.replace('ann', 'bob') })).toBe(401);
  expect(await deliver({ ageSeconds: 360 })).toBe(401);
  expect(await deliver({ ageSeconds: -360 })).toBe(401);
  expect((await fetch(origin, { method: 'POST', body })).status).toBe(401);
  expect(await deliver({ sent: 'x'.repeat(70_000) })).toBe(413);
  expect(chat.deliveries).toHaveLength(before);
});

test('what the chat does not take is asked for again', async () => {
  chat.replies.push({ status: 500 });
  expect(await deliver({ id: 'msg_again' })).toBe(502);
  expect(await deliver({ id: 'msg_again' })).toBe(204);
});
