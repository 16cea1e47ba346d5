// Puts a sidecar together: what the library and the process have in common. Nothing is read from the environment here.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createAuditClient } from '@tollgate/proto';
import { AppError, parseKey } from '@tollgate/proto/contract';
import { systemClock } from './clock.ts';
import { prepareWith } from './govern/prepare.ts';
import { createCounters } from './limits/counters.ts';
import type { Log } from './log.ts';
import { createShipper } from './ship/shipper.ts';
import type { Sidecar } from './sidecar.ts';
import { createPolicyCell } from './snapshot/cell.ts';
import { keepOnDisk } from './snapshot/keep.ts';
import { adoptDead } from './spool/adoption.ts';
import { openSpool, randomSpoolId } from './spool/spool.ts';
import { diskFs } from './spool/spool-fs.ts';
import { createChannel } from './sync/channel.ts';
import { followPolicy } from './sync/follow.ts';

export interface SidecarOptions {
  readonly form: 'process' | 'library';
  /** `host:port` of the control plane's gRPC. */
  readonly controlPlane: string;
  readonly key: string;
  /** Plain text beyond loopback. */
  readonly plaintext: boolean;
  readonly spoolDir: string;
  readonly durability: 'kernel' | 'disk';
  readonly spoolBytesMax: number;
  readonly keepInput: boolean;
  readonly sidecarId: string | null;
  readonly log: Log;
}

const sweepMs = 10_000;
const closeDeadlineMs = 5_000;

export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { form, log, durability } = options;
  const workspace = parseKey(options.key)?.workspace;
  if (workspace === undefined)
    throw new AppError({ code: 'bad_request', publicMessage: 'the key must have the form gsk_<workspace>_<random>' });
  const channel = createChannel(options);
  const clock = systemClock;
  const cell = createPolicyCell(clock, workspace);
  const counters = createCounters(60);
  cell.onSwap(prepareWith(counters));
  const sweeper = setInterval(() => counters.sweep(clock.now()), sweepMs);
  sweeper.unref();

  const folder = resolve(options.spoolDir);
  const audit = { clock, log };
  const spool = await openSpool(audit, { folder, workspace, durability, bytesMax: options.spoolBytesMax });
  const keeper = await keepOnDisk({ cell, clock, log }, join(folder, snapshotName(options, workspace)));

  const sidecarId = options.sidecarId ?? `${hostname()}-${process.pid}`;
  const auditClient = createAuditClient(channel.address, channel.credentials, channel.options);
  const shipper = createShipper(
    {
      ...audit,
      adopt: (max) => adoptDead({ ...audit, fs: diskFs, randomId: randomSpoolId }, { folder, workspace, max }),
      random: Math.random,
      openStream: () => auditClient.ship(channel.metadata()),
      onStatus: ({ link, lastError }) => log.info({ link, lastError }, 'audit stream'),
    },
    { sidecarId, spool: spool.backlog },
  );
  const listeners = new Set<() => void>();
  const follower = followPolicy(
    {
      cell,
      channel,
      random: Math.random,
      log,
      onTaken: (message) => keeper.save(message),
      onRefused: () => keeper.drop(),
      // Not to wait out what it waits because the control plane was away.
      onOpen: () => shipper.retryNow(),
      onState: () => {
        for (const listener of listeners) listener();
      },
    },
    { sidecarId, bootId: randomBytes(8).toString('hex'), form: form === 'process' ? 'FORM_PROCESS' : 'FORM_LIBRARY' },
  );

  const held = (): boolean => cell.current !== null;
  const ready = (timeoutMs: number): Promise<void> =>
    new Promise((done, fail) => {
      const settle = (): void => {
        // Once the control plane has said what is current, or cannot be reached, what is held is the best there is.
        const awaited = !follower.told && (follower.problem === null || follower.problem === 'not connected yet');
        if (!held() || awaited) return;
        stop();
        done();
      };
      const timer = setTimeout(() => {
        stop();
        if (held()) done();
        else
          fail(
            new AppError({
              code: 'unavailable',
              publicMessage: `no policy from ${options.controlPlane} within ${timeoutMs} ms: ${follower.problem ?? 'the stream is open but silent'}`,
            }),
          );
      }, timeoutMs);
      const stop = (): void => {
        clearTimeout(timer);
        listeners.delete(settle);
      };
      listeners.add(settle);
      settle();
    });

  return {
    cell,
    counters,
    govern: { cell, clock, newId: randomUUID, keepInput: options.keepInput },
    spool,
    durability,
    unrecorded: 0,
    shipping: () => shipper.status(),
    notReady: () => {
      return [
        ...(held() ? [] : [`no policy is held: ${follower.problem ?? 'none was received'}`]),
        ...(cell.refused === null ? [] : [`the control plane refuses the key: ${cell.refused}`]),
        ...(spool.failure === undefined ? [] : [`the spool cannot be written: ${spool.failure}`]),
      ];
    },
    ready,
    close: async (deadlineMs = closeDeadlineMs) => {
      clearInterval(sweeper);
      follower.close();
      await shipper.close({ deadlineMs });
      auditClient.close();
      await keeper.close();
    },
  };
}

/** One file for each view: a library's depends on its key, a process's does not. */
function snapshotName({ form, key }: SidecarOptions, workspace: string): string {
  const view = form === 'process' ? 'process' : createHash('sha256').update(key).digest('hex').slice(0, 16);
  return `snapshot-${workspace}-${view}`;
}
