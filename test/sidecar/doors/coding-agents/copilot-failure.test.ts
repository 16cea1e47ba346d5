// For a call that failed, Copilot CLI sends only the error, and shows its model that error whatever the answer is.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { copilotCli } from '../../../../proto/hosts/copilot-cli.ts';
import { agent, document, type World } from '../../../support/snapshots.ts';
import { folder, startHosts } from './recorded.ts';

const input: object = JSON.parse(
  readFileSync(join(folder, 'recorded', 'copilot-cli', 'postToolUseFailure-odd-srv-del_thing.json'), 'utf8'),
).input;
const leaking = { ...input, error: 'no such file: bob@acme-mail.eu' };

test('its event is recognised by the error in it, and its answer is treated as ignored', () => {
  expect(copilotCli.read(leaking, (text) => text)).toMatchObject({
    phase: 'after',
    name: 'postToolUseFailure',
    isError: true,
    heeded: false,
    output: 'no such file: bob@acme-mail.eu',
  });
});

test('what policy redacts in it is recorded as shown, and reported in the log', async () => {
  const redacts = document({ defaults: [['interactive', { transform: 'redact' }]] });
  const world: World = { agents: [agent({ id: 'other', name: 'other' })], documents: [redacts] };
  const { ask, sidecar, lines } = await startHosts(world);
  expect(await ask('copilot-cli', leaking)).toMatchObject({ kind: 'pass', text: '' });
  expect(await sidecar.entries()).toMatchObject([
    { hookEvent: 'PostToolUse', findings: [{ kind: 'email', count: 1 }], outcome: { action: 'pass', isError: true } },
  ]);
  expect(lines.join('')).toContain('the host showed its model an output that policy blocks or redacts');
  expect(lines.join('')).not.toContain('bob@');
});
