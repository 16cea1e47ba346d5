// Runs `@modelcontextprotocol/inspector --cli` through the proxy, as a person would: it lists the tools that policy
// allows, calls one, is refused a tool that is not listed, and is denied one by a limit with a text that a model can
// act on.
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runOnNode24 } from './on-node-24.ts';
import { setStage, type Stage } from './stage.ts';

const inspector = '@modelcontextprotocol/inspector@2.12.0';
const everyTier = (rule: object): object => ({ interactive: rule, subagent: rule, background: rule, api: rule });

const stage = await setStage({
  tools: {
    'suite.test_image_content': everyTier({ permission: 'deny' }),
    'suite.test_audio_content': everyTier({ rateLimit: 1 }),
  },
});
try {
  const listed = await ask(stage, 'tools/list');
  const names = (JSON.parse(listed.out) as { readonly tools: readonly { readonly name: string }[] }).tools.map(({ name }) => name);
  assert.ok(names.includes('test_simple_text') && names.includes('test_audio_content'), `lists ${names.join()}`);
  assert.ok(!names.includes('test_image_content'), 'lists a tool that policy denies');

  const called = await ask(stage, 'tools/call', '--tool-name', 'test_simple_text');
  assert.match(called.out, /This is a simple text response for testing/);

  const refused = await ask(stage, 'tools/call', '--tool-name', 'test_image_content');
  assert.notEqual(refused.code, 0);
  assert.doesNotMatch(refused.out, /image\/png/);

  const once = await ask(stage, 'tools/call', '--tool-name', 'test_audio_content');
  assert.match(once.out, /audio\/wav/);
  const denied = await ask(stage, 'tools/call', '--tool-name', 'test_audio_content');
  assert.match(denied.out, /"isError": true/);
  assert.match(denied.out, /rate_limited/);
  process.stdout.write(`inspector: ${names.length} tools listed, two called, one refused, one denied\n`);
} finally {
  await stage.close();
}

async function ask({ proxied, key }: Stage, method: string, ...more: readonly string[]) {
  const target = [proxied.href, '--transport', 'http', '--header', `Authorization: Bearer ${key}`];
  const command = ['mcp-inspector', '--cli', ...target, '--method', method, ...more];
  return runOnNode24(inspector, command, { MCP_CATALOG_PATH: join(tmpdir(), `tollgate-inspector-${process.pid}.json`) });
}
