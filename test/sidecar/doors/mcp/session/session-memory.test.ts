// The memory budget of MCP sessions in bytes, for all keys together: the largest holder is evicted first.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Pending } from '../../../../../sidecar/doors/mcp/request/pending.ts';
import {
  addWaiting,
  createMcpSessions,
  noteAbandoned,
  noteQuestion,
  takeWaiting,
  waitingKey,
} from '../../../../../sidecar/doors/mcp/session/sessions.ts';

const owner = (keyId: string) => ({ sub: 'ann', keyId });

function start(bytesMax: number) {
  const ended: string[] = [];
  const abandoned: string[] = [];
  const sessions = createMcpSessions((error) => abandoned.push(String(error)), bytesMax);
  const pendingOf = (name: string): Pending => ({
    method: 'tools/call',
    settle: () => Promise.reject(new Error('nothing came')),
    abandon: async () => void abandoned.push(name),
    passing: (text) => text,
    redacting: name,
  });
  return {
    sessions,
    ended,
    abandoned,
    pendingOf,
    begin: (keyId: string, id: string) =>
      sessions.begin('s', id, { owner: owner(keyId), client: { name: 'cli' }, endAtServer: () => void ended.push(id) }),
  };
}

test('a flood of sessions of one key ends none of another key, and its own from the least recently used on', () => {
  const { begin, sessions, ended } = start(50_000);
  begin('honest', 'mine');
  for (let n = 0; n < 1_000; n += 1) begin('flood', `s${n}`);
  expect(sessions.find('s', 'mine', owner('honest'))).not.toBeNull();
  const left = Array.from({ length: 1_000 }, (_, n) => n).filter((n) => sessions.find('s', `s${n}`, owner('flood')) !== null);
  expect(left.length).toBeGreaterThan(5);
  expect(left.length).toBeLessThan(20);
  expect(left[0]).toBe(1_000 - left.length);
  expect(ended).toHaveLength(1_000 - left.length);
});

test('ids are stored in a short form, however long they are', () => {
  expect(waitingKey('x'.repeat(1_000_000)).length).toBeLessThanOrEqual(64);
  expect(waitingKey('x'.repeat(1_000_000))).not.toBe(waitingKey(`${'x'.repeat(999_999)}y`));
  expect(waitingKey(1)).not.toBe(waitingKey('1'));
});

test('whatever sessions hold is released when they end, and each request is taken or abandoned once', async () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    session: fc.integer({ min: 0, max: 8 }),
    what: fc.constantFrom('begin' as const, 'ask' as const, 'take' as const, 'abandon' as const, 'question' as const, 'end' as const),
    id: fc.integer({ min: 0, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { sessions, begin, pendingOf, abandoned } = start(30_000);
      let asked = 0;
      let taken = 0;
      for (const { key, session: number, what, id } of steps) {
        const name = `${key}-${number}`;
        if (what === 'begin') begin(key, name);
        const session = sessions.find('s', name, owner(key));
        if (session === null) continue;
        if (what === 'ask' && !session.waiting.has(waitingKey(id))) {
          asked += 1;
          addWaiting(session, waitingKey(id), pendingOf(`${name} ${id}`));
        }
        if (what === 'take' && takeWaiting(session, id) !== null) taken += 1;
        if (what === 'abandon') {
          if (session.waiting.has(waitingKey(id))) taken += 1;
          noteAbandoned(session, waitingKey(id));
        }
        if (what === 'question') noteQuestion(session, id);
        if (what === 'end') await sessions.end('s', name);
      }
      await sessions.endAll();
      expect(taken + abandoned.length).toBe(asked);
      // The whole budget is available again.
      const names = Array.from({ length: 8 }, (_, n) => `again-${n}`);
      for (const name of names) begin('a', name);
      expect(names.every((name) => sessions.find('s', name, owner('a')) !== null)).toBe(true);
    }),
  );
});
