// The example of each framework, run as it is printed, against a control plane and the scripted model.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environment } from '../support/environment.ts';
import { type ControlPlane, startControlPlane } from '../support/programs.ts';
import { claudeEnvironment } from './claude-agent-sdk.ts';
import { type Model, startModel } from './model.ts';

const key = `gsk_default_${'f'.repeat(40)}`;
const folder = mkdtempSync(join(tmpdir(), 'tollgate-frameworks-'));
let plane: ControlPlane;
let model: Model;

beforeAll(async () => {
  model = await startModel();
  plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: key });
  const rules = { 'travel.book': { api: { permission: 'deny' } } };
  const answer = await fetch(`${plane.rest}/default/admin/workspacePolicy`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ tools: rules }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
});
afterAll(async () => {
  model?.close();
  await plane?.end();
  rmSync(folder, { recursive: true, force: true });
});

const pathOf = (name: string): string => fileURLToPath(new URL(`../../sidecar/examples/${name}/main.ts`, import.meta.url));

async function run(name: string): Promise<string> {
  const env = environment({
    ...claudeEnvironment(folder, model.url),
    TOLLGATE_GRPC: plane.grpc,
    TOLLGATE_KEY: key,
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_AGENTS_DISABLE_TRACING: '1',
    MASTRA_TELEMETRY_DISABLED: '1',
    LANGSMITH_TRACING: 'false',
  });
  const tsx = import.meta.resolve('tsx');
  const child = spawn(process.execPath, ['--import', tsx, pathOf(name)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect({ code, problems }).toEqual({ code: 0, problems: '' });
  return output;
}

test.each([
  ['openai-agents', ''],
  ['langchain', ''],
  ['mastra', ''],
  ['claude-agent-sdk', 'mcp__travel__'],
])('%s: one call is allowed and one denied, with at most three lines of ours', async (name, prefix) => {
  const [weather, book] = ['weather', 'book'].map((tool) => ({ tool: prefix + tool, input: { place: 'Lisbon' } }));
  if (weather === undefined || book === undefined) throw new Error('unreachable');
  await model.answers([weather], [book], 'It is sunny in Lisbon, but I may not book.');
  expect(await run(name)).toBe('the agent says: It is sunny in Lisbon, but I may not book.\n');
  expect(await model.read()).toEqual([
    expect.stringContaining('sunny in Lisbon'),
    expect.stringMatching(/The call of \\?"travel\.book\\?" was not permitted: policy_denied/),
  ]);
  const lines = readFileSync(pathOf(name), 'utf8').split('\n');
  expect(lines.filter((line) => line.endsWith('// Tollgate'))).toHaveLength(3);
  // Each line that names something of ours is marked, but for the import and the end.
  const names = /\b(?:gate|run|connect)\b(?!Agent| as)|claudeHooks|guardTools/;
  const unmarked = lines.filter((line) => names.test(line) && !/\/\/ Tollgate$|^import|^\/\/|^await gate\.close\(\);$/.test(line));
  expect(unmarked).toEqual([]);
});
