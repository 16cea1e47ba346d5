// Streams of sidecars whose keys are about to become invalid, one key for each way. One test checks that they end, and
// test/long measures the time until then.
import type { SyncRequest } from '@tollgate/proto';
import { snapshotSchemaVersion } from '@tollgate/proto/contract';
import { openShip, openSync, type Plane } from '../support/plane.ts';
import { field } from './rest.ts';

export const hello: SyncRequest = {
  hello: { sidecarId: 'by-hand', bootId: 'b', form: 'FORM_PROCESS', schemaVersion: snapshotSchemaVersion },
};

interface Held {
  readonly key: string;
  readonly revoke: () => Promise<unknown>;
}

const ways: Readonly<Record<string, (plane: Plane) => Promise<Held>>> = {
  'is revoked': async (plane) => {
    const { key, id } = await plane.issueKey(['sidecar.sync']);
    return { key, revoke: () => plane.ask('DELETE', `/acme/admin/keys/${id}`) };
  },
  'is rotated': async (plane) => {
    const { key, id } = await plane.issueKey(['sidecar.sync']);
    return { key, revoke: () => plane.ask('POST', `/acme/admin/keys/${id}/rotate`) };
  },
  'is of a member who leaves': async (plane) => {
    const uid = 'leaver-1';
    return { key: await plane.keyOf('member', ['sidecar.sync'], uid), revoke: () => plane.ask('DELETE', `/acme/admin/members/${uid}`) };
  },
  'was made by a member who leaves': async (plane) => {
    const uid = 'leaver-2';
    const key = await plane.keyOf('admin', ['*'], uid);
    const made = await plane.ask('POST', '/acme/admin/keys', { key, body: { name: 'made', scopes: ['sidecar.sync'] } });
    return { key: field(made, 'key'), revoke: () => plane.ask('DELETE', `/acme/admin/members/${uid}`) };
  },
  expires: async (plane) => {
    const expiresAt = new Date(plane.clock.now.getTime() + 3_600_000);
    const { key } = await plane.issueKey(['sidecar.sync'], { expiresAt: expiresAt.toISOString() });
    return {
      key,
      revoke: async () => {
        plane.clock.now = expiresAt;
        plane.aheadMs = 3_600_000;
      },
    };
  },
};

export const waysToRevoke: readonly string[] = Object.keys(ways);

export interface Opened {
  readonly way: string;
  readonly revoke: () => Promise<unknown>;
  /** How the stream of policy and the stream of entries ended. */
  readonly ended: Promise<readonly string[]>;
}

/** Both streams of a key for each way, open and answered. */
export async function openForEach(plane: Plane): Promise<readonly Opened[]> {
  const opened: Opened[] = [];
  for (const [way, hold] of Object.entries(ways)) {
    const { key, revoke } = await hold(plane);
    const policy = openSync(plane, key);
    policy.write(hello);
    const { message } = await policy.next();
    if (message !== 'snapshot') throw new Error(`the stream of policy began with ${message}`);
    const audit = openShip(plane, key);
    audit.write({ hello: { sidecarId: 'by-hand' } });
    const { credit } = await audit.next();
    if (credit == null) throw new Error('the stream of entries began without credit');
    opened.push({ way, revoke, ended: Promise.all([policy.ended, audit.ended]) });
  }
  return opened;
}
