// Requests and results of other gateways that exceed the memory budget: the caller may retry, and the outcome of a call
// is recorded as unread.
import { expect, test } from 'vitest';
import { BodyMemory } from '../../../../sidecar/doors/entrance/body-memory.ts';
import { answerOf, callOf, httpCheck, mcpRequest, mcpResponse, startTestMesh } from './asked-by-a-gateway.ts';

const later = 'request_limit: too many bytes are being read at the same time; try again later';

test('a message that gets no memory budget in time is rejected, and read once there is budget', async () => {
  const bodies = new BodyMemory({ bytes: 1_000, waitMs: 1 });
  const { sidecar, check, checkRequest, checkResponse, failures } = await startTestMesh({}, 1_000, undefined, bodies);
  const callNow = () => checkRequest(mcpRequest('tools/call', { name: 'create_issue', arguments: {} }));
  const permitted = await callNow();
  expect(bodies.take('others', 500)).toBe(true);
  expect(bodies.take('more', 200)).toBe(true);
  expect(JSON.stringify(await callNow())).toContain('RESOURCE_EXHAUSTED');
  expect(answerOf(await check(httpCheck({ body: JSON.stringify(Array.from({ length: 50 }, () => 0)) })))).toMatchObject({
    status: 429,
    body: expect.stringContaining(later) as string,
  });
  const result = await checkResponse(mcpResponse('tools/call', { content: [] }, callOf(permitted)));
  expect(JSON.stringify(result)).toContain('RESOURCE_EXHAUSTED');
  expect((await sidecar.entries()).map(({ hookEvent, outcome }) => [hookEvent, outcome?.isError])).toEqual([
    ['PreToolUse', undefined],
    ['PostToolUse', true],
  ]);
  bodies.give('others', 500);
  bodies.give('more', 200);
  expect((await callNow()).result).toBe('pass');
  expect(failures).toEqual([]);
});
