// What the hook endpoint remembers of sessions, and what it forgets first.
import { expect, test } from 'vitest';
import { type HookRequest, parseHookRequest } from '../../../sidecar/gateway/hooks/hook-request.ts';
import { createSessions, type Session } from '../../../sidecar/gateway/sessions.ts';
import { createTestSidecar } from '../../support/governing.ts';

const asked = (fields: object): HookRequest =>
  parseHookRequest({ tool_name: 'mail.send', tool_input: {}, session_id: 's1', agent_name: 'bot', ...fields }, undefined, 'key-1');

test('numbers and caps of a session that is in use are kept, however many others come, and agents of it that come late share them', async () => {
  const sidecar = await createTestSidecar();
  const index = sidecar.cell.current;
  if (index === null) throw new Error('no policy');
  const sessions = createSessions(sidecar, 4);
  const find = (fields: object = {}): Session => sessions.find(index, { sub: 'ann', keyId: 'key-1' }, asked(fields));
  const first = find();
  for (let at = 0; at < 20; at++) {
    find({ session_id: `other-${at}` });
    expect(find()).toBe(first);
  }
  expect(find({ agent_name: 'helper' }).run.numbers).toBe(first.run.numbers);
  expect(find({ client: { name: 'other' } }).run.usage).toBe(first.run.usage);
});
