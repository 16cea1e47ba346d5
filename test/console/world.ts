// What the tests of the console look at: a control plane with the built console, a sidecar, members, agents, policy, and
// calls with every outcome. A test file starts one world; its tests share it and use sessions of their own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import {
  type Answer,
  ask,
  type ControlPlane,
  eventually,
  type SidecarProgram,
  startControlPlane,
  startSidecarProgram,
} from '../support/programs.ts';

export const workspace = 'default';
const ownerKey = `gsk_default_${'c'.repeat(40)}`;

export interface World {
  readonly plane: ControlPlane;
  readonly sidecar: SidecarProgram;
  /** Of the owner, an admin, and a member, each with every scope that their role can have; and one that only governs. */
  readonly keys: { readonly owner: string; readonly bob: string; readonly mia: string; readonly agent: string };
  /** Makes a request to the control plane as the owner. */
  readonly rest: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Asks the sidecar about a call of a tool, and returns its answer. */
  readonly call: (tool: string, input: unknown, fields?: Readonly<Record<string, unknown>>) => Promise<Answer>;
  /** Waits until the audit log has this many decisions with the session id. */
  readonly recorded: (session: string, count: number) => Promise<readonly Readonly<Record<string, unknown>>[]>;
}

const policy = {
  defaults: { interactive: { permission: 'allow', transform: 'redact' }, api: { permission: 'allow', transform: 'redact' } },
  tools: {
    'github.delete_repo': { interactive: { permission: 'deny' }, api: { permission: 'deny' } },
    'mail.send': { interactive: { rateLimit: 2 }, api: { rateLimit: 2 } },
    'payments.transfer': { interactive: { permission: 'ask' }, api: { permission: 'ask' } },
  },
};

/** Starts the world before the tests of a file, and ends it after them. */
export function useWorld(env: Readonly<Record<string, string>> = {}): () => World {
  let world: World | null = null;
  const ends: (() => unknown)[] = [];
  beforeAll(async () => {
    world = await startWorld(env, ends);
  }, 120_000);
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => {
    if (world === null) throw new Error('the world has not started');
    return world;
  };
}

async function startWorld(env: Readonly<Record<string, string>>, ends: (() => unknown)[]): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-console-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: ownerKey, ...env });
  ends.push(() => plane.end());
  const rest = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await ask(`${plane.rest}${path}`, ownerKey, { method, body });
    if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const admin = `/${workspace}/admin`;
  for (const [uid, role] of [
    ['bob', 'admin'],
    ['mia', 'member'],
  ])
    await rest('POST', `${admin}/members`, { uid, email: `${uid}@example.com`, role });
  const key = async (name: string, scopes: readonly string[], of: object = {}): Promise<string> =>
    String((await rest('POST', `${admin}/keys`, { name, scopes, ...of })).body['key']);
  const reading = ['agents.read', 'agents.write', 'admin.audit.read', 'admin.approvals', 'policies.read', 'policies.write', 'govern'];
  const keys = {
    owner: ownerKey,
    bob: await key('bob', reading, { uid: 'bob' }),
    mia: await key('mia', reading, { uid: 'mia' }),
    agent: await key('agent', ['govern']),
  };
  await rest('PUT', `${admin}/workspacePolicy`, policy);
  await rest('POST', '/api/v1/agents', {
    name: 'support',
    model: 'demo/echo',
    description: 'Answers customers',
    enabledTools: ['crm.*', 'github.*', 'mail.*', 'payments.*'],
  });
  const sidecar = await startSidecarProgram({
    TOLLGATE_CONTROL_PLANE: plane.grpc,
    TOLLGATE_KEY: await key('sidecar', ['sidecar.sync']),
    TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
    TOLLGATE_SIDECAR_ID: 'edge-1',
  });
  ends.push(() => sidecar.end());
  await eventually(
    () => ask(`${sidecar.url}/readyz`, ''),
    ({ status }) => status === 200,
  );
  return {
    plane,
    sidecar,
    keys,
    rest,
    call: (tool, input, fields = {}) =>
      ask(`${sidecar.url}/govern/tool-use`, keys.mia, {
        body: { tool_name: tool, tool_input: input, session_id: 's1', agent_tier: 'api', agent_name: 'support', ...fields },
      }),
    recorded: (session, count) =>
      eventually(
        async () =>
          (await rest('GET', `${admin}/audit?session=${encodeURIComponent(session)}`)).body['entries'] as readonly Readonly<
            Record<string, unknown>
          >[],
        (entries) => entries.length >= count,
      ),
  };
}
