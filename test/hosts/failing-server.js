// An MCP server on standard input and output, with one tool: the tool fails, with the text of the given file as its
// error.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const tool = {
  name: 'fail',
  description: 'fails',
  inputSchema: { type: 'object', properties: { file: { type: 'string' } }, required: ['file'] },
};
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'notes', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': (params) => ({ isError: true, content: [{ type: 'text', text: readFileSync(params.arguments.file, 'utf8') }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const said = answer === undefined ? { error: { code: -32601, message: `there is no ${method}` } } : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`);
});
