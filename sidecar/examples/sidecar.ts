// Starts a sidecar process for an example, in the same way as the command `tollgate-sidecar`. The tool servers of the
// sidecar are in a gateway file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { grpc, key } from './plane.ts';

export interface SidecarProcess {
  readonly url: string;
  stop(): Promise<void>;
}

// This path is correct for the sources and for `dist`.
const program = fileURLToPath(new URL('../bin.js', import.meta.resolve('@tollgate/sidecar')));

export async function startSidecar(gateway: object): Promise<SidecarProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-example-'));
  const file = join(folder, 'gateway.json');
  writeFileSync(file, JSON.stringify(gateway));
  const env = {
    ...process.env,
    TOLLGATE_CONTROL_PLANE: grpc,
    TOLLGATE_KEY: key,
    TOLLGATE_SIDECAR_PORT: '0',
    TOLLGATE_SPOOL_DIR: folder,
    TOLLGATE_GATEWAY_FILE: file,
    TOLLGATE_LOG_LEVEL: 'error',
  };
  // These variables are settings of the examples and not of a sidecar.
  Reflect.deleteProperty(env, 'TOLLGATE_REST');
  Reflect.deleteProperty(env, 'TOLLGATE_GRPC');
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface(child.stdout)) {
    const address = /^ {2}hooks +(\S+)$/.exec(line)?.[1];
    if (address === undefined) continue;
    const { origin } = new URL(address);
    await untilReady(origin);
    return { url: origin, stop };
  }
  throw new Error('the sidecar process ended before it started to listen');
}

/** Waits until the sidecar holds policy. The sidecar listens before that. */
async function untilReady(url: string): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    const answer = await fetch(`${url}/readyz`);
    await answer.text();
    if (answer.ok) return;
    await new Promise((rest) => setTimeout(rest, 20));
  }
  throw new Error('the sidecar is not ready');
}
