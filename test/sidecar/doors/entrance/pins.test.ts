// A sidecar of one agent: at any door, the claims of callers about themselves have no effect.
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, onTestFinished, test } from 'vitest';
import { createEntrance } from '../../../../sidecar/doors/entrance/entrance.ts';
import { exportSidecar } from '../../../../sidecar/app/metrics/sidecar.ts';
import type { Pins } from '../../../../sidecar/doors/entrance/pins.ts';
import { buildServer } from '../../../../sidecar/doors/server.ts';
import { createTestSidecar } from '../../../support/governing.ts';
import { agent, key, keyText, type World } from '../../../support/snapshots.ts';
import { silentLog } from '../../../support/silent-log.ts';

const world: World = {
  agents: [
    agent({ id: 'a1', name: 'triage', enabledTools: ['mail.*', 'Read'] }),
    agent({ id: 'a2', name: 'clerk', enabledTools: ['other'] }),
  ],
  keys: [key({ id: 'key1' }), key({ id: 'pinned', pins: { agent: 'clerk', tier: 'subagent', client: null } })],
};

async function start(pins: Pins) {
  const sidecar = await createTestSidecar({ world });
  const registry = new Registry();
  const entrance = createEntrance({ sidecar, log: silentLog, metrics: exportSidecar(registry, sidecar), pins });
  const app = buildServer({ entrance, registry, log: pino({ level: 'silent' }) });
  onTestFinished(() => app.close());
  const ask = (url: string, payload: object, name = 'key1') =>
    app.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${keyText(name)}` } });
  const last = async () => (await sidecar.entries()).at(-1);
  return { ask, last };
}

const call = { tool_name: 'mail.send', tool_input: {}, session_id: 's1', agent_name: 'clerk', agent_tier: 'interactive' };

test('agent and tier are those of the sidecar, at the hook endpoint and at the hooks of hosts', async () => {
  const { ask, last } = await start({ agent: 'triage', tier: 'background' });
  expect((await ask('/govern/tool-use', call)).json()).toMatchObject({ decision: 'allow' });
  expect(await last()).toMatchObject({ agentName: 'triage', agentTier: 'background' });
  await ask('/hooks/claude-code', { session_id: 's2', hook_event_name: 'PreToolUse', tool_name: 'Read', tool_input: {}, cwd: '/' });
  expect(await last()).toMatchObject({ agentName: 'triage', agentTier: 'background' });
});

test('a pin of the key takes precedence, and what is not pinned is as claimed', async () => {
  const { ask, last } = await start({ agent: 'triage', tier: null });
  expect((await ask('/govern/tool-use', call, 'pinned')).json()).toMatchObject({ decision: 'deny' });
  expect(await last()).toMatchObject({ agentName: 'clerk', agentTier: 'subagent' });
  await ask('/govern/tool-use', call);
  expect(await last()).toMatchObject({ agentName: 'triage', agentTier: 'interactive' });
});

test('the chain above the caller is kept', async () => {
  const { ask, last } = await start({ agent: 'triage', tier: null });
  await ask('/govern/tool-use', { ...call, agent_chain: ['clerk', 'clerk'] });
  expect(await last()).toMatchObject({ agentName: 'triage', chain: ['clerk', 'triage'] });
});
