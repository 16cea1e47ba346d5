// An MCP server on standard input and output, with two tools: `fail` fails, with the text of the given file as its error,
// and `append` writes a line at the end of the given file.
import { appendFileSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const toolOf = (name, ...names) => ({
  name,
  description: name,
  inputSchema: { type: 'object', properties: Object.fromEntries(names.map((one) => [one, { type: 'string' }])), required: names },
});
const calls = {
  fail: ({ file }) => ({ isError: true, content: [{ type: 'text', text: readFileSync(file, 'utf8') }] }),
  append: ({ file, line }) => {
    appendFileSync(file, `${line}\n`);
    return { content: [{ type: 'text', text: 'appended' }] };
  },
};
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'notes', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [toolOf('fail', 'file'), toolOf('append', 'file', 'line')] }),
  'tools/call': (params) => calls[params.name](params.arguments),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = answers[method];
  const said = answer === undefined ? { error: { code: -32601, message: `there is no ${method}` } } : { result: answer(params) };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`);
});
