import { expect, test } from 'vitest';
import { callOptions } from '../../../control-plane/runs/models/sdk-request.ts';
import { requestOf } from '../../support/model-requests.ts';

test.each([
  ['geo__weather', 'geo__weather'],
  ['', 'unknown'],
  ['geo.weather now', 'unknown'],
  ['x'.repeat(65), 'unknown'],
])('a call of %j and its answer are sent again under a name that providers accept', (alias, toolName) => {
  const { prompt } = callOptions(
    requestOf({
      model: 'm',
      messages: [
        { role: 'user', text: 'x' },
        { role: 'assistant', text: '', toolCalls: [{ callId: 'a', alias, arguments: '{}' }] },
        { role: 'tool', callId: 'a', alias, output: 'no', isError: true },
      ],
    }),
    { limit: 10 },
  );
  expect(prompt.slice(-2)).toMatchObject([{ content: [{ toolCallId: 'a', toolName }] }, { content: [{ toolCallId: 'a', toolName }] }]);
});
