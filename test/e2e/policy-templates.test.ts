// Each policy of examples/policies, applied to a running control plane. The calls of its tests are made for real at four
// doors: library, hook endpoint, MCP proxy and HTTP tools. Each door answers as `tollgate policy test` says, and the tool
// runs exactly for the calls that are allowed. Calls that have a time are made at the present time.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, ToolDenied } from '@tollgate/sidecar';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { parseTestFile, type TestCall, type TestFile } from '../../cli/policies/test-file.ts';
import { run } from '../cli/cli.ts';
import { type FakeServer, startFakeServer, tool } from '../support/mcp-servers.ts';
import { ask, type ControlPlane, eventually, type SidecarProgram, startControlPlane, startSidecarProgram } from '../support/programs.ts';

const ownerKey = `gsk_default_${'p'.repeat(40)}`;
const templates = fileURLToPath(new URL('../../examples/policies/', import.meta.url));
const names = readdirSync(templates)
  .filter((name) => name.endsWith('.test.yaml'))
  .map((name) => name.replace('.test.yaml', ''))
  .toSorted();
const folder = mkdtempSync(join(tmpdir(), 'tollgate-templates-'));

type Row = Readonly<Record<string, unknown>>;

interface Template {
  readonly name: string;
  readonly test: TestFile;
  readonly policy: Row;
  readonly written: Row & { readonly calls: readonly Row[]; readonly world: Row };
}

async function readTemplate(name: string): Promise<Template> {
  const text = readFileSync(`${templates}${name}.test.yaml`, 'utf8');
  const test = await parseTestFile(`${name}.test.yaml`, text);
  if ('problems' in test) throw new Error(test.problems.join('\n'));
  return {
    name,
    test,
    policy: parse(readFileSync(`${templates}${name}.yaml`, 'utf8')) as Row,
    written: parse(text) as Template['written'],
  };
}

const all = await Promise.all(names.map(readTemplate));
const toolsOf = (of: readonly Template[]): readonly string[] => [
  ...new Set(of.flatMap(({ test: { calls } }) => calls.map((call) => call.tool))),
];
const partsOf = (name: string): readonly [server: string, tool: string] => {
  const at = name.indexOf('.');
  return [name.slice(0, at), name.slice(at + 1)];
};

// === The form of a policy for HTTP tools: a tool has one name without a dot, and its input is the body of a request

const httpName = (name: string): string => name.replace('.', '-');

/** Renames the tools of rules, and reads arguments from the body. */
function httpPolicy(value: unknown, isTools = false): unknown {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map((one) => httpPolicy(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => {
      if (key === 'when') return [key, String(child).replaceAll(/\bargs\b/g, 'args.body')];
      return [isTools ? httpName(key) : key, httpPolicy(child, key === 'tools')];
    }),
  );
}

function httpTests({ written: { world, calls, defaults, ...rest } }: Template): Row {
  const { toolServers: _, ...others } = world;
  const renamed = (call: Row): Row => (typeof call['tool'] === 'string' ? { ...call, tool: httpName(call['tool']) } : call);
  return {
    ...rest,
    world: others,
    defaults: renamed((defaults ?? {}) as Row),
    calls: calls.map((call) => ({ ...renamed(call), input: { method: 'POST', path: '/', query: {}, body: call['input'] ?? {} } })),
  };
}

interface Answer {
  readonly decision: string;
  /** Null: the door does not tell it. */
  readonly reason: string | null;
}

/** What `tollgate policy test` answers to each call, by name, if calls that have a time are made at `now`. */
async function tested({ name, policy, written }: Template, form: 'plain' | 'http', now: string): Promise<ReadonlyMap<string, Answer>> {
  const [policyFile, testFile] = [`${name}-${form}.json`, `${name}-${form}.test.json`];
  const body = form === 'http' ? httpTests({ name, policy, written } as Template) : written;
  const calls = (body['calls'] as readonly Row[]).map((call) => (call['now'] === undefined ? call : { ...call, now }));
  writeFileSync(join(folder, policyFile), JSON.stringify(form === 'http' ? httpPolicy(policy) : policy));
  writeFileSync(join(folder, testFile), JSON.stringify({ ...body, policies: [policyFile], calls }));
  const ran = await run(['policy', 'test', '--json', join(folder, testFile)]);
  if (ran.out === '') throw new Error(ran.err);
  const { files } = JSON.parse(ran.out) as {
    readonly files: readonly { readonly calls: readonly { readonly name: string; readonly got: Answer }[] }[];
  };
  return new Map(files.flatMap((file) => file.calls.map((call) => [call.name, call.got] as const)));
}

// === The programs

let plane: ControlPlane;
let sidecar: SidecarProgram;
let gate: Awaited<ReturnType<typeof connect>>;
let mcp: FakeServer;
let http: FakeServer;

beforeAll(async () => {
  [mcp, http] = [await startFakeServer(), await startFakeServer()];
  // One server for all names: no two of them have tools of one name with different hints.
  mcp.pages = [[...new Map(toolsOf(all).map((name) => [partsOf(name)[1], tool(partsOf(name)[1], annotationsOf(name))])).values()]];
  mcp.instead = ({ rpc: { id, method } }, response) => {
    if (method !== 'tools/call') return false;
    const result = { content: [{ type: 'text', text: 'done' }] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  };
  http.instead = (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    return true;
  };
  plane = await startControlPlane({
    TOLLGATE_DATA_DIR: join(folder, 'plane'),
    TOLLGATE_OWNER_KEY: ownerKey,
    TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
  });
  await registerAll();
  const httpTools = Object.fromEntries(toolsOf(all).map((name) => [httpName(name), { url: `http://127.0.0.1:${http.port}` }]));
  writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ httpTools }));
  const { body } = await admin('keys', { name: 'sidecar', scopes: ['sidecar.sync'] });
  sidecar = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: String(body['key']),
    TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
    TOLLGATE_GATEWAY_FILE: join(folder, 'gateway.json'),
    TOLLGATE_ALLOW_PRIVATE_TOOL_SERVERS: 'true',
  });
  gate = await connect({ controlPlane: plane.grpc, key: ownerKey, spoolDir: join(folder, 'library') });
});
afterAll(async () => {
  await gate?.close();
  await sidecar?.end();
  await plane?.end();
  await mcp?.close();
  await http?.close();
  rmSync(folder, { recursive: true, force: true });
});

function annotationsOf(name: string): object {
  const [server, own] = partsOf(name);
  const annotations = all.map(({ test: { world } }) => world.toolServers[server]?.[own]?.annotations).find((one) => one !== undefined);
  return annotations === undefined ? {} : { annotations };
}

/** The same policy, in which no call is held for a person: the MCP proxy would hold it for 50 s. */
function unheld(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unheld);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, of]): [string, unknown] => [name, unheld(of)]);
  const rule: Record<string, unknown> = Object.fromEntries(fields);
  if (rule['permission'] !== 'ask') return rule;
  const { ask: terms = {} } = rule;
  return { ...rule, ask: { ...(terms === 'confirm' ? { approvers: ['subject'], self: true } : Object(terms)), waitSeconds: 0 } };
}

async function admin(path: string, body: unknown) {
  const answer = await ask(`${plane.rest}/default/admin/${path}`, ownerKey, { body });
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer;
}

/** Creates what the tests of all policies name: members, agents and tool servers. */
async function registerAll(): Promise<void> {
  const members = new Map(all.flatMap(({ test: { world } }) => Object.entries(world.members)));
  for (const [uid, role] of members) await admin('members', { uid, email: `${uid}@example.com`, role });
  const agents = new Map(
    all.flatMap(({ test: { world } }) => Object.entries(world.agents).filter(([, { registered }]) => registered !== false)),
  );
  for (const [name] of agents) {
    const enabledTools = toolsOf(all).flatMap((one) => [one, httpName(one)]);
    const made = await ask(`${plane.rest}/api/v1/agents`, ownerKey, {
      body: { name, model: 'demo/echo', enabledTools, maxToolCalls: 1_000 },
    });
    expect(made).toMatchObject({ status: 200 });
  }
  for (const server of new Set(toolsOf(all).map((name) => partsOf(name)[0]))) {
    await admin('toolServers', { name: server, url: mcp.url });
    await admin(`toolServers/${server}/admit`, {});
  }
}

/** Applies the policy, for both forms of names. Resolves when the sidecar and the library decide by it. */
async function apply(policy: Row): Promise<void> {
  const other = httpPolicy(policy) as Row;
  const merged = (a: unknown, b: unknown): unknown =>
    isRow(a) && isRow(b)
      ? Object.fromEntries(
          [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [
            key,
            key in a && key in b ? merged(a[key], b[key]) : (a[key] ?? b[key]),
          ]),
        )
      : a;
  const none = { workspacePolicy: {}, rolePolicies: {}, agentTypePolicies: {}, userPolicies: {} };
  const { body } = await admin('policies/apply', { ...none, ...(unheld(merged(policy, other)) as Row) });
  await eventually(
    async () =>
      (await ask(`${plane.rest}/default/admin/sidecars`, ownerKey)).body['sidecars'] as readonly {
        readonly held: { readonly number: number } | null;
      }[],
    (followers) => followers.length === 2 && followers.every(({ held }) => (held?.number ?? 0) >= Number(body['revision'])),
  );
}

const isRow = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

// === The doors

interface Door {
  readonly form: 'plain' | 'http';
  readonly ask: (call: TestCall) => Promise<Answer>;
  /** How often the tool has run. */
  readonly ran: () => number;
}

const subOf = ({ caller }: TestCall): string => {
  if ('role' in caller) throw new Error('the tests of a policy in examples name a member');
  return caller.sub;
};

const keys = new Map<string, Promise<string>>();

/** A key of the member, which pins what the test says of the caller. */
function keyOf(call: TestCall): Promise<string> {
  const { agent, client, tier } = call;
  const body = { name: 'test', scopes: ['govern'], uid: subOf(call), tier, client, ...(agent === '' ? {} : { agent }) };
  const known = keys.get(JSON.stringify(body)) ?? admin('keys', body).then((answer) => String(answer.body['key']));
  keys.set(JSON.stringify(body), known);
  return known;
}

async function post(url: string, call: TestCall, body: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await keyOf(call)}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status >= 500) throw new Error(`${url} was answered ${response.status} ${text}`);
  return { status: response.status, body: JSON.parse(text) as Row };
}

function libraryDoor(): Door {
  let ran = 0;
  return {
    form: 'plain',
    ran: () => ran,
    ask: async (call) => {
      const { agent, client, tier } = call;
      const guarded = gate.run({ agent, tier, client: { name: client }, user: subOf(call) }).guard(call.tool, (_input: unknown) => {
        ran += 1;
      });
      try {
        await guarded(call.input);
        return { decision: 'allow', reason: null };
      } catch (error) {
        if (!(error instanceof ToolDenied)) throw error;
        return { decision: 'deny', reason: error.denial.reason };
      }
    },
  };
}

function hookDoor(): Door {
  let ran = 0;
  return {
    form: 'plain',
    ran: () => ran,
    ask: async (call) => {
      const { body } = await post(`${sidecar.url}/govern/tool-use`, call, {
        tool_name: call.tool,
        tool_input: call.input,
        session_id: 'hook',
      });
      // The agent makes the call itself.
      if (body['decision'] === 'allow') ran += 1;
      return { decision: String(body['decision']), reason: String(body['reason']) };
    },
  };
}

const mcpDoor = (): Door => ({
  form: 'plain',
  ran: () => mcp.asked.filter(({ rpc }) => rpc.method === 'tools/call').length,
  ask: async (call) => {
    const [server, name] = partsOf(call.tool);
    const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: call.input } };
    const { body } = await post(`${sidecar.url}/mcp/${server}`, call, rpc, { 'mcp-protocol-version': '2025-11-25' });
    const { result, error } = body as { readonly result?: { readonly isError?: boolean }; readonly error?: unknown };
    if (result === undefined && error === undefined) throw new Error(`MCP was answered ${JSON.stringify(body)}`);
    return { decision: result !== undefined && result.isError !== true ? 'allow' : 'deny', reason: null };
  },
});

const httpDoor = (): Door => ({
  form: 'http',
  ran: () => http.asked.length,
  ask: async (call) => {
    const { status } = await post(`${sidecar.url}/tools/${httpName(call.tool)}/`, call, call.input);
    return { decision: status === 200 ? 'allow' : 'deny', reason: null };
  },
});

describe.each(all)('$name', (template) => {
  const { name, test: written, policy } = template;

  test('passes its own tests, with at least eight calls, some allowed and some denied', async () => {
    expect(await run(['policy', 'test', `${templates}${name}.test.yaml`])).toMatchObject({ code: 0, err: '' });
    expect(written.calls.length).toBeGreaterThanOrEqual(8);
    const decided = new Set(written.calls.map(({ expected }) => expected.decision));
    for (const decision of ['allow', 'deny'] as const) expect(decided).toContain(decision);
  });

  test('is decided at every door as policy test says, and the tool runs only for what is allowed', async () => {
    // The keys are in the revision of the policy, which the sidecars are awaited to hold.
    await Promise.all(written.calls.map(keyOf));
    await apply(policy);
    const at = async () => {
      const now = new Date().toISOString();
      return { plain: await tested(template, 'plain', now), http: await tested(template, 'http', now) };
    };
    const before = await at();
    const doors: Readonly<Record<string, Door>> = { library: libraryDoor(), hook: hookDoor(), mcp: mcpDoor(), http: httpDoor() };
    const answers = await Promise.all(
      Object.entries(doors).map(async ([door, { form, ask: askDoor, ran }]) => {
        const made = [];
        for (const call of written.calls) {
          const runs = ran();
          made.push({ door, form, call: call.name, answer: await askDoor(call), ran: ran() - runs });
        }
        return made;
      }),
    );
    const after = await at();
    const flat = answers.flat();
    expect(flat).toHaveLength(4 * written.calls.length);
    for (const { door, form, call, answer, ran } of flat) {
      // A call at the present time may be made just before or just after an hour ends.
      const wanted = [before[form].get(call), after[form].get(call)];
      const of = `${call}, at the door ${door}`;
      expect(
        // No one answers here, so a call that is asked for is denied.
        wanted.map((one) => (one?.decision === 'ask' ? 'deny' : one?.decision)),
        of,
      ).toContain(answer.decision);
      // What has become of the question is only known where it was asked.
      if (wanted.some((one) => one?.decision === 'ask')) expect(answer.reason ?? 'approval_pending: ', of).toMatch(/^approvals?_[a-z]+: /);
      else if (answer.reason !== null)
        expect(
          wanted.map((one) => one?.reason),
          of,
        ).toContain(answer.reason);
      expect(ran, `runs of ${of}`).toBe(answer.decision === 'allow' ? 1 : 0);
    }
  });
});
