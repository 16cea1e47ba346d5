// Tools that answer without asking the client: the content, the messages in between and the errors that the suite
// checks.
import { setTimeout as wait } from 'node:timers/promises';
import { audio, image } from './media.ts';
import { type SuiteTool, suiteTool, textResult } from './tool.ts';

const stepMs = 50;

const resource = (uri: string, mimeType: string, text: string) => ({ type: 'resource' as const, resource: { uri, mimeType, text } });

const contentTools: readonly SuiteTool[] = [
  suiteTool('test_simple_text', 'Answers a text', () => Promise.resolve(textResult('This is a simple text response for testing.'))),
  suiteTool('test_image_content', 'Answers an image', () => Promise.resolve({ content: [{ type: 'image', ...image }] })),
  suiteTool('test_audio_content', 'Answers a sound', () => Promise.resolve({ content: [{ type: 'audio', ...audio }] })),
  suiteTool('test_embedded_resource', 'Answers a resource', () =>
    Promise.resolve({ content: [resource('test://embedded-resource', 'text/plain', 'A resource within a result.')] }),
  ),
  suiteTool('test_multiple_content_types', 'Answers text, an image and a resource', () =>
    Promise.resolve({
      content: [
        { type: 'text', text: 'Several kinds of content:' },
        { type: 'image', ...image },
        resource('test://mixed-content-resource', 'application/json', JSON.stringify({ test: 'data', value: 123 })),
      ],
    }),
  ),
  suiteTool(
    'test_header_parameter',
    'Has a parameter that is said in a header too',
    ({ region }) => Promise.resolve(textResult(String(region))),
    {
      region: { type: 'string', 'x-mcp-header': 'Region' },
    },
  ),
  suiteTool('test_error_handling', 'Fails', () =>
    Promise.resolve({ ...textResult('This tool intentionally returns an error for testing'), isError: true }),
  ),
];

const messagingTools: readonly SuiteTool[] = [
  suiteTool('test_tool_with_logging', 'Logs while it works', async (_args, { mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } });
      await wait(stepMs);
    }
    return textResult('logged');
  }),
  suiteTool('test_tool_with_progress', 'Tells how far it is', async (_args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken ?? 0;
    for (const progress of [0, 50, 100]) {
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 100 } });
      await wait(stepMs);
    }
    return textResult(String(progressToken));
  }),
  suiteTool('test_logging_tool', 'Logs at the level that the request asks for, if it asks', async (_args, { mcpReq }) => {
    await mcpReq.log('info', 'a line of a log');
    return textResult('logged where that was asked for');
  }),
  suiteTool('test_reconnection', 'Closes its stream in the middle, to be resumed', async (_args, { http }) => {
    http?.closeSSE?.();
    await wait(2 * stepMs);
    return textResult('resumed');
  }),
];

const schema2020: SuiteTool = {
  definition: {
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema with words of JSON Schema 2020-12',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } } },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  },
  call: (args) => Promise.resolve(textResult(JSON.stringify(args))),
};

export const tools: readonly SuiteTool[] = [...contentTools, ...messagingTools, schema2020];
