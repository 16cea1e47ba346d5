// The recorded inputs of the hosts, and a sidecar that receives them as the hosts send them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type HostName, hosts } from '@tollgate/proto/contract';
import { createTestServer, createTestSidecar } from '../../../support/governing.ts';
import { agent, keyText, ruleFor, type World } from '../../../support/snapshots.ts';

export const folder = fileURLToPath(new URL('../../../cases/hosts', import.meta.url));

/** What the workspace's policy decides about the tool. `outage`: no policy has been received. */
export const circumstances = ['allow', 'deny', 'redact', 'outage'] as const;
type Circumstance = (typeof circumstances)[number];

export interface HostRecording {
  readonly host: HostName;
  readonly name: string;
  readonly version: string;
  /** Our name for the tool. */
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** The exact bytes of the answer in each circumstance. */
  readonly answers: Readonly<Record<Circumstance, string>>;
}

export const recorded: readonly HostRecording[] = hosts.flatMap((host) =>
  readdirSync(join(folder, host))
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    // The files are written by hand. The tests that read them trust their shape.
    .map((file) => ({ ...(JSON.parse(readFileSync(join(folder, host, file), 'utf8')) as HostRecording), host, name: file.slice(0, -5) })),
);

/** Every tool is enabled, so that only policy decides. */
export function worldOf(circumstance: Circumstance, tool: string): World | null {
  const agents = [agent({ id: 'other', name: 'other' })];
  if (circumstance === 'outage') return null;
  if (circumstance === 'allow') return { agents };
  return { agents, documents: [ruleFor(tool, circumstance === 'deny' ? { permission: 'deny' } : { transform: 'redact' })] };
}

export async function startHosts(world: World | null = {}, options: { readonly durability?: 'kernel' | 'disk' } = {}) {
  const sidecar = await createTestSidecar({ world, ...options });
  const { app, lines, registry } = createTestServer(sidecar);
  async function ask(host: string, body: unknown, headers: Readonly<Record<string, string | string[]>> = {}) {
    const answer = await app.inject({
      method: 'POST',
      url: `/hooks/${host}`,
      headers: { authorization: `Bearer ${keyText('key1')}`, 'content-type': 'application/json', ...headers },
      payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
    return { status: answer.statusCode, text: answer.body, kind: answer.headers['x-tollgate-answer'] };
  }
  return { sidecar, app, lines, registry, ask };
}
