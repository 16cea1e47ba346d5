// One request to a collector, and the meaning of its answer.
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createCollector } from '../../control-plane/audit/export/collector.ts';
import { requestOf } from '../../control-plane/audit/export/records.ts';
import { type Collector, startCollector } from '../support/collector.ts';

let collector: Collector;
beforeEach(async () => {
  collector = await startCollector();
});
afterEach(() => collector.close());

const wallTime = Date.parse('2026-06-25T12:00:00Z');
const body = requestOf({ workspace: 'acme', origin: 'o' }, []);
const open = (endpoint = collector.url, answerMs = 2_000) => {
  const client = createCollector({ endpoint, headers: { authorization: 'hunter2' }, answerMs }, () => wallTime);
  onTestFinished(() => client.close());
  return client;
};
const never = new AbortController().signal;

test.each([
  ['7', 7_000],
  ['Thu, 25 Jun 2026 12:00:30 GMT', 30_000],
  ['Thu, 25 Jun 2026 11:00:00 GMT', 0],
  ['soon', null],
])('Retry-After: %s is %s ms', async (header, ms) => {
  collector.reply = () => ({ status: 503, headers: { 'retry-after': header } });
  expect(await open().post(body, never)).toMatchObject({ kind: 'failed', failure: { kind: 'unavailable', retryAfterMs: ms } });
});

test.each<readonly [unknown, number]>([
  [{}, 0],
  ['', 0],
  ['no json', 0],
  [{ partialSuccess: {} }, 0],
  [{ partialSuccess: null }, 0],
  [{ partialSuccess: { rejectedLogRecords: 3 } }, 3],
  [{ partialSuccess: { rejectedLogRecords: '4', errorMessage: 'x' } }, 4],
  [{ partialSuccess: { rejectedLogRecords: '0', errorMessage: 'only a warning' } }, 0],
  [{ partialSuccess: { rejectedLogRecords: 'many' } }, 0],
  [[1], 0],
])('200 with %j means that all were accepted except %i', async (answer, rejected) => {
  collector.reply = () => ({ status: 200, body: answer });
  expect(await open().post(body, never)).toMatchObject({ kind: 'taken', rejected });
});

test('the description of a failure contains no header, no address and nothing that was sent', async () => {
  collector.reply = () => ({ status: 403, body: { message: `no\u0007 way for hunter2 ${'x'.repeat(500)}` } });
  const refused = JSON.stringify(await open(`${collector.url}?token=hunter2`).post(body, never));
  expect(refused).toContain('403 Forbidden","words":"no way for *** xxx');
  expect(refused.length).toBeLessThan(400);
  const gone = JSON.stringify(await open('http://127.0.0.1:1/v1/logs?token=hunter2').post(body, never));
  expect(gone).toContain('ECONNREFUSED');
  expect(refused + gone).not.toContain('hunter2');
});

test.each<readonly [number, string, string]>([
  [200, 'refused', 'the collector answered 200 OK, with more than 64 KiB; a collector does not answer like this'],
  [500, 'refused', 'the collector answered 500 Internal Server Error'],
  [503, 'unavailable', 'the collector answered 503 Service Unavailable'],
])('%i with a long body is %s, and the next request is answered', async (status, kind, reason) => {
  collector.reply = ({ nth }) => (nth === 1 ? { status, body: 'x'.repeat(10_000_000) } : { status: 200 });
  const client = open();
  expect(await client.post(body, never)).toMatchObject({ kind: 'failed', failure: { kind, reason } });
  expect(await client.post(body, never)).toMatchObject({ kind: 'taken' });
});

test.each([
  ['text/plain', 'healthy', 'failed'],
  ['text/plain; charset=utf-8', '{}', 'taken'],
  ['text/plain', '', 'taken'],
  ['text/html', '', 'failed'],
])('200 with %s "%s" is %s', async (type, answer, kind) => {
  collector.reply = () => ({ status: 200, headers: { 'content-type': type }, body: answer });
  expect(await open().post(body, never)).toMatchObject({ kind });
});

test('an answer that does not end counts as no answer', async () => {
  collector.reply = () => 'hang';
  expect(await open(collector.url, 50).post(body, never)).toMatchObject({ kind: 'failed', failure: { kind: 'timeout' } });
});

test('a stopped collector client waits for no answer', async () => {
  collector.reply = () => 'hang';
  const stop = new AbortController();
  const posted = open().post(body, stop.signal);
  await collector.until(() => collector.posts.length === 1);
  stop.abort(new Error('stopped'));
  await expect(posted).rejects.toThrow('stopped');
  await expect(open().post(body, stop.signal)).rejects.toThrow('stopped');
});
