// Two control planes, each a separate process, on one PostgreSQL; and the requests to them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Answer, ask, type ControlPlane, startControlPlane } from '../support/programs.ts';
import { type Postgres, startPostgres } from './postgres.ts';

const ownerKey = `gsk_default_${'k'.repeat(40)}`;
export const planeNames = ['plane-a', 'plane-b'] as const;

export interface World {
  readonly postgres: Postgres;
  readonly planes: readonly [ControlPlane, ControlPlane];
  /** A key for sidecars and for the calls they decide. */
  readonly key: string;
  close(): Promise<void>;
}

export async function startWorld(): Promise<World> {
  const postgres = await startPostgres();
  const running: ControlPlane[] = [];
  // A temporary folder, not the one where a developer's own control plane keeps entries that it has yet to record.
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-chaos-planes-'));
  const close = async (): Promise<void> => {
    // A control plane that drains needs its database.
    postgres.thaw();
    try {
      await Promise.all(running.map((plane) => plane.end()));
    } finally {
      await postgres.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  };
  const startPlane = async (name: string): Promise<ControlPlane> => {
    const plane = await startControlPlane({ DATABASE_URL: postgres.url(name), TOLLGATE_DATA_DIR: dataDir, TOLLGATE_OWNER_KEY: ownerKey });
    running.push(plane);
    return plane;
  };
  const started = await Promise.allSettled([startPlane(planeNames[0]), startPlane(planeNames[1])]);
  try {
    const [a, b] = started;
    if (a.status === 'rejected') throw a.reason;
    if (b.status === 'rejected') throw b.reason;
    const { body } = await askAsOwner(a.value, '/default/admin/keys', { body: { name: 'sidecar', scopes: ['sidecar.sync', 'govern'] } });
    return { postgres, planes: [a.value, b.value], key: String(body['key']), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A request is cancelled after this time, which is far longer than any answer takes. */
const hungMs = 10_000;

/** Asks as the owner. A missing answer has the status 0. */
export async function askAsOwner(
  plane: ControlPlane,
  path: string,
  question: { readonly method?: string; readonly body?: unknown } = {},
): Promise<Answer> {
  const none: Answer = { status: 0, body: {}, etag: null };
  return Promise.race([ask(`${plane.rest}${path}`, ownerKey, question), delay(hungMs, none, { ref: false })]);
}

/** Writes the workspace's document; returns the revision that this made. */
export async function putPolicy(plane: ControlPlane, document: object): Promise<number> {
  const { status, body } = await askAsOwner(plane, '/default/admin/workspacePolicy', { method: 'PUT', body: document });
  if (status !== 200) throw new Error(`the policy was not written: ${status} ${JSON.stringify(body)}`);
  return Number(body['revision']);
}

/** Merged into the workspace's document, this denies a tool by name. */
export const denying = (tool: string): object => ({ tools: { [tool]: { api: { permission: 'deny' } } } });
