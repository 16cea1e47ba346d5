// What `guardTools` does with the tools of the AI SDK, besides the cells that all frameworks have.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, tool } from 'ai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startRun } from '../../sidecar/doors/library/library.ts';
import { createTestSidecar } from '../support/governing.ts';
import { ruleFor } from '../support/snapshots.ts';
import { type Model, startModel } from './model.ts';

let model: Model;
beforeAll(async () => {
  model = await startModel();
});
afterAll(() => model.close());

const address = 'bob@acme-mail.eu';

test("the SDK's telemetry has each call around the tool, with its redacted output or its denial", async () => {
  const seen: unknown[] = [];
  const telemetry = {
    functionId: 'write',
    integrations: {
      onToolExecutionStart: ({ toolCall }: { readonly toolCall: { readonly toolName: string } }) =>
        void seen.push(['start', toolCall.toolName]),
      executeTool: async <T>({ execute }: { readonly execute: () => PromiseLike<T> }): Promise<T> => {
        seen.push('enters');
        return execute().then((output) => {
          seen.push('leaves');
          return output;
        });
      },
      onToolExecutionEnd: ({ toolOutput }: { readonly toolOutput: unknown }) => void seen.push(['end', toolOutput]),
    },
  };
  for (const rule of [{ transform: 'redact' }, { permission: 'deny' }] as const) {
    const sidecar = await createTestSidecar({ world: { documents: [ruleFor('send', rule)], agents: [] } });
    const send = tool({
      description: 'Sends mail.',
      inputSchema: z.object({ to: z.string() }),
      execute: ({ to }) => {
        seen.push(['runs', to]);
        return `sent to ${address}`;
      },
    });
    const tools = startRun(sidecar, { agent: 'assistant', tier: 'interactive' }).guardTools({ send });
    await model.answers([{ tool: 'send', input: { to: address } }], 'Done.');
    const openai = createOpenAI({ apiKey: 'none', baseURL: `${model.url}/v1` });
    await generateText({ model: openai.chat('gpt-4o'), tools, prompt: 'Write.', stopWhen: ({ steps }) => steps.length >= 5, telemetry });
  }
  expect(seen).toMatchObject([
    ['start', 'send'],
    'enters',
    ['runs', '[redacted:email#1]'],
    'leaves',
    ['end', { type: 'tool-result', output: 'sent to [redacted:email#1]' }],
    ['start', 'send'],
    'enters',
    ['end', { type: 'tool-error', error: { name: 'ToolDenied', message: expect.stringContaining('policy_denied') } }],
  ]);
});
