// A model of all providers on loopback, in a process of its own, for the tests of clients in other languages. It prints
// `model <url>` and `script <url>`. PUT to the second sets what the model answers, one turn for each request, and
// forgets what it received; after the last turn it answers `Done.`. GET returns the requests that it received since
// then, oldest first, in the form of OpenAI's chat completions whatever the provider: `{messages, tools, …}`.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type ChatCompletionRequest, LLMock } from '@copilotkit/aimock';

/** Text, or the calls that it requests, in one turn. */
type Turn = string | readonly { readonly tool: string; readonly input: unknown }[];

let turns: readonly Turn[] = [];
let received: ChatCompletionRequest[] = [];

const mock = new LLMock({ port: 0, host: '127.0.0.1' });
mock.on({ predicate: () => true }, (request) => {
  const turn = turns[received.length] ?? 'Done.';
  received.push(request);
  if (typeof turn === 'string') return { content: turn };
  return { toolCalls: turn.map(({ tool, input }) => ({ name: tool, arguments: JSON.stringify(input) })) };
});
await mock.start();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'PUT') {
    turns = (await json(request)) as readonly Turn[];
    received = [];
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(received));
}

const script = createServer((request, response) => void answer(request, response));
script.listen(0, '127.0.0.1', () => {
  process.stdout.write(`model ${mock.url}\nscript http://127.0.0.1:${(script.address() as AddressInfo).port}\n`);
});
process.once('SIGTERM', () => process.exit());
