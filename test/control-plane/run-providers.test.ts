// Runs over REST with providers over HTTP, built as main.ts does: a fake provider would not receive the run's own
// signal or a real client that listens to it.
import { LLMock } from '@copilotkit/aimock';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCatalogue } from '../../control-plane/agents/rules/catalogue.ts';
import { createReach } from '../../control-plane/runs/mcp/reach.ts';
import { createModels } from '../../control-plane/runs/models/models.ts';
import { createProviders, type Providers } from '../../control-plane/runs/models/providers.ts';
import { settingsFrom } from '../../control-plane/runs/models/settings.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { createRunsRest, type RunsRest } from './runs.ts';

const mock = new LLMock({ port: 0 });
let providers: Providers;
let server: FakeServer;
let rest: RunsRest;

beforeAll(async () => {
  await mock.start();
  server = await startFakeServer();
  server.pages = [[tool('read')]];
  const config = {
    openaiApiKey: 'sk-o',
    openaiBaseUrl: `${mock.url}/v1`,
    anthropicApiKey: 'sk-a',
    anthropicBaseUrl: `${mock.url}/v1`,
    modelEndpoints: null,
  };
  providers = await createProviders(settingsFrom(config, {}), {
    wait: async () => undefined,
    random: Math.random,
    now: Date.now,
  });
  const models = createModels(createCatalogue([]), providers.byName);
  rest = await createRunsRest({ models, reach: createReach({ allowPrivate: true, commands: [] }, {}) });
  await rest.ask('POST', '/acme/admin/toolServers', { body: { name: 'files', url: server.url } });
});
afterEach(() => {
  mock.reset();
});
afterAll(async () => {
  await rest.close();
  await providers.close();
  await server.close();
  await mock.stop();
});

describe.each(['openai/gpt-5-mini', 'anthropic/claude-haiku-4-5'])('a run of %s', (model) => {
  test('calls tools in parallel, receives their results, and ends with its text', async () => {
    mock.onMessage('read both', {
      toolCalls: [
        { name: 'files__read', arguments: '{"path":"a"}' },
        { name: 'files__read', arguments: '{"path":"b"}' },
      ],
    });
    mock.prependFixture({ match: { predicate: ({ messages }) => messages.at(-1)?.role === 'tool' }, response: { content: 'both read' } });
    const id = await rest.createAgent({ name: `a-${model.split('/')[0]}`, model, enabledTools: ['files.*'] });
    const answer = await rest.run(id, { input: 'read both' });
    expect(answer).toMatchObject({
      status: 200,
      body: { output: 'both read', stopReason: 'goal_complete', usage: { toolCallCount: 2, model } },
    });
    const events = await (await rest.stream(id, { input: 'read both' })).all();
    expect([...new Set(events.map(({ event }) => event))]).toEqual(['tool_calls', 'governance', 'tool_result', 'text', 'done']);
  });
});
