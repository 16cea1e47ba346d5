// The suite's server, alone and behind a sidecar of a control plane, each a separate program.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ask, eventually, startControlPlane, startProgram, startSidecarProgram } from '../support/programs.ts';

export interface Stage {
  readonly alone: string;
  readonly proxied: URL;
  /** Of the workspace's owner. */
  readonly key: string;
  close(): Promise<void>;
}

/** `policy`: the workspace's document; empty: everything is allowed. */
export async function setStage(policy: object): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-stage-'));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const server = await startProgram(['--import', 'tsx', 'test/conformance/server/main.ts'], { env: {}, until: 'mcp' });
    undo.push(() => server.end());
    const alone = server.announced.get('mcp') ?? '';
    const key = `gsk_default_${'c'.repeat(40)}`;
    const plane = await startControlPlane({ TOLLGATE_DATA_DIR: join(folder, 'plane'), TOLLGATE_OWNER_KEY: key }, 'source');
    undo.push(() => plane.end());
    const { status, body } = await ask(`${plane.rest}/default/admin/workspacePolicy`, key, { method: 'PUT', body: policy });
    if (status !== 200) throw new Error(`the policy was refused: ${JSON.stringify(body)}`);
    const made = await ask(`${plane.rest}/default/admin/keys`, key, { body: { name: 'sidecar', scopes: ['sidecar.sync'] } });
    const file = join(folder, 'gateway.json');
    writeFileSync(
      file,
      JSON.stringify({
        mcpServers: {
          suite: { url: alone },
          program: { command: process.execPath, args: ['--import', 'tsx', 'test/conformance/server/stdio.ts'] },
        },
      }),
    );
    const sidecar = await startSidecarProgram(
      {
        TOLLGATE_CONTROL_PLANE: plane.grpc,
        TOLLGATE_KEY: String(made.body['key']),
        TOLLGATE_SPOOL_DIR: join(folder, 'sidecar'),
        TOLLGATE_GATEWAY_FILE: file,
      },
      'source',
    );
    undo.push(() => sidecar.end());
    await untilReady(sidecar.url);
    return { alone, proxied: new URL('/mcp/suite', sidecar.url), key, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function untilReady(url: string): Promise<void> {
  await eventually(
    async () => (await fetch(`${url}/readyz`)).status,
    (status) => status === 200,
  );
}
