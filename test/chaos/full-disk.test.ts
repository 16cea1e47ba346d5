// R7 with real processes: a sidecar whose disk is full denies what it cannot record and loses nothing that it did
// record. It recovers without a restart when the control plane has taken the entries that fill the disk.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, type TestOptions } from 'vitest';
import { needs } from '../support/installed.ts';
import { ask, eventually, type Program, startControlPlane, startSidecarProgram } from '../support/programs.ts';
import { canMount, mountAt, unmount } from '../support/small-disk.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'tollgate-full-'));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function keep<P extends Program>(program: P): P {
  cleanups.push(() => program.end('SIGKILL'));
  return program;
}

interface Way {
  readonly what: string;
  readonly options: TestOptions;
  /** The spool folder. */
  readonly prepare: () => string;
  readonly fill: (pid: number) => void;
}

const ways: readonly Way[] = [
  {
    what: 'a file system without space',
    options: { skip: !canMount() },
    prepare: () => {
      const path = folder();
      mountAt(path);
      cleanups.push(() => unmount(path));
      return path;
    },
    fill: () => undefined,
  },
  {
    what: 'a limit on the size of a file',
    options: needs('prlimit'),
    prepare: folder,
    fill: (pid) => execFileSync('prlimit', ['--pid', `${pid}`, '--fsize=100001:']),
  },
];

for (const { what, options, prepare, fill } of ways) {
  test(
    `${what}: calls that cannot be recorded are denied, recorded entries stay, and calls continue when space is free`,
    options,
    async () => {
      const dataDir = folder();
      const planeEnv = { TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey };
      const plane = keep(await startControlPlane(planeEnv));
      const key = String(
        (await ask(`${plane.rest}/default/admin/keys`, ownerKey, { body: { name: 'test', scopes: ['sidecar.sync'] } })).body['key'],
      );
      const sidecar = keep(
        await startSidecarProgram({ TOLLGATE_CONTROL_PLANE: plane.grpc, TOLLGATE_KEY: key, TOLLGATE_SPOOL_DIR: prepare() }),
      );
      await eventually(
        () => ask(`${sidecar.url}/readyz`, ownerKey),
        ({ status }) => status === 200,
      );
      await plane.end('SIGKILL');
      fill(sidecar.pid);

      const call = async (n: number) =>
        (
          await ask(`${sidecar.url}/govern/tool-use`, ownerKey, {
            body: { tool_name: 'files.read', tool_input: { n, pad: 'x'.repeat(4_000) }, session_id: 'full', agent_tier: 'api' },
          })
        ).body;
      const recorded: number[] = [];
      let denied = 0;
      for (let n = 0; denied < 30 && n < 500; n += 1) {
        const { decision, reason } = await call(n);
        if (decision === 'allow') recorded.push(n);
        else {
          expect(reason).toMatch(/^audit_unavailable/);
          denied += 1;
        }
      }
      expect({ denied, some: recorded.length > 10 }).toEqual({ denied: 30, some: true });
      expect((await ask(`${sidecar.url}/readyz`, ownerKey)).status).toBe(503);

      const again = keep(await startControlPlane({ ...planeEnv, TOLLGATE_GRPC_PORT: plane.grpc.split(':').at(-1) ?? '' }));
      const known = async (): Promise<readonly unknown[]> => {
        const { body } = await ask(`${again.rest}/default/admin/audit?session=full&limit=1000`, ownerKey);
        return Array.isArray(body['entries']) ? body['entries'].map(({ input }: { input?: { n?: number } }) => input?.n) : [];
      };
      await eventually(known, (entries) => entries.length >= recorded.length, 60_000);
      let next = 10_000;
      await eventually(
        () => call((next += 1)),
        ({ decision }) => decision === 'allow',
      );
      const all = await eventually(known, (entries) => entries.includes(next));
      expect(new Set(all)).toEqual(new Set([...recorded, next]));
      expect(all).toHaveLength(recorded.length + 1);
      expect((await ask(`${sidecar.url}/readyz`, ownerKey)).status).toBe(200);
      process.stdout.write(`${what}: ${recorded.length} recorded, ${denied} denied, ${all.length} entries\n`);
    },
  );
}
