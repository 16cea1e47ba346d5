// The examples, as a reader runs them: built, one after another, against a control plane that is started as `npm start`
// does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environment } from '../support/environment.ts';
import { type ControlPlane, startControlPlane } from '../support/programs.ts';

const key = `gsk_default_${'e'.repeat(40)}`;
const examples = fileURLToPath(new URL('../../sidecar/examples', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'tollgate-examples-'));
let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: key });
});
afterAll(async () => {
  await plane?.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Its output; throws where it does not end with 0. */
async function run(name: string): Promise<string> {
  const program = fileURLToPath(new URL(`../../sidecar/dist/examples/${name}/main.js`, import.meta.url));
  const env = environment({ TOLLGATE_REST: plane.rest, TOLLGATE_GRPC: plane.grpc, TOLLGATE_KEY: key });
  const child = spawn(process.execPath, [program], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, problems, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  expect({ code, problems }).toEqual({ code: 0, problems: '' });
  return output;
}

const said: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  library: [
    'found: {"order":7,"state":"sent"}',
    'the courier reads: Call [redacted:email#1]',
    /^denied: policy_denied - The call of "shop\.refund" was not permitted: .* Trying again will not help/,
  ],
  'ai-sdk': ['rounds: 3', /^the agent says: sunny in Lisbon; The call of "travel\.book" was not permitted: policy_denied/],
  'mcp-client': [
    'hidden: get-env',
    'echo: [{"type":"text","text":"Echo: for [redacted:email#1]"}]',
    /^get-env: true \{"code":"policy_denied","reason":"policy_denied: .*","kind":"terminal","requestId":"[-0-9a-f]{36}"\}$/,
  ],
  'hook-endpoint': [
    'files.read allow',
    'the model reads: Ask [redacted:email#1]',
    /^files\.delete deny terminal - policy_denied: the workspace denies api calls/,
  ],
  'delegation-and-costs': [
    'web.search allowed',
    'web.post delegated_tools',
    'asked for 2 cents',
    'asked for 1.25 cents',
    'cap_budget: 2 cents do not fit: 1.75 of 5 are left (maxBudgetCents)',
    'the researcher ended by max_budget - the editor by nothing',
  ],
  'mcp-proxy': [
    'get-env is listed: false',
    'echo: [{"type":"text","text":"Echo: for [redacted:email#1]"}]',
    /^get-sum: answered /,
    /^get-sum: denied .*rate_limited/,
  ],
  'http-tool': [
    'the service sees: GET /invoices/7 with a key of ours: false',
    'GET: 200 {"invoice":7,"to":"[redacted:email#1]"}',
    /^DELETE: 403 .*policy_denied/,
  ],
  'host-hook': ['Read: {}', /^mcp__github__create_issue: .*"permissionDecision":"deny".*policy_denied/],
};

// test/frameworks runs these.
const ofFrameworks = ['claude-agent-sdk', 'langchain', 'mastra', 'openai-agents'];

test('every existing example runs here', () => {
  const there = readdirSync(examples, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && existsSync(join(examples, entry.name, 'main.ts')),
  );
  expect(
    there
      .map(({ name }) => name)
      .filter((name) => name !== 'demo' && !ofFrameworks.includes(name))
      .toSorted(),
  ).toEqual(Object.keys(said).toSorted());
});

test.each(Object.keys(said))('%s prints its documented output', async (name) => {
  const lines = (await run(name)).trimEnd().split('\n');
  expect(lines).toEqual((said[name] ?? []).map((line) => (typeof line === 'string' ? line : expect.stringMatching(line))));
});
