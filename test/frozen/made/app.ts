// Builds the REST surface as `main.ts` does, without a database and without a listener: its document and its metrics
// can be read, but it cannot answer a request of a client. Every optional part is included.
import { AppError, policyNeeds } from '@tollgate/proto/contract';
import { noPolicy } from '@tollgate/sidecar/hooks';
import type { FastifyInstance } from 'fastify';
import { Pool } from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { createCatalogue } from '../../../control-plane/agents/rules/catalogue.ts';
import { createKeyLookups } from '../../../control-plane/access/operations/key-lookups.ts';
import { createApp } from '../../../control-plane/http/app.ts';
import { streamBounds } from '../../../control-plane/http/streams.ts';
import { createNotary, newNotaryKey } from '../../../control-plane/audit/operations/notary.ts';
import { createStartRun } from '../../../control-plane/runs/operations/start-run.ts';
import { createDiscover } from '../../../control-plane/tool-servers/operations/discover.ts';
import { createReach } from '../../../control-plane/runs/mcp/reach.ts';
import { noApprovals } from '../../support/no-approvals.ts';
import { createSeats } from '../../../control-plane/base/turns.ts';

const unavailable = () => Promise.reject(new AppError({ code: 'unavailable', publicMessage: 'there is no database here' }));

/** Adds its metrics to `registry`. Close it after use. */
export function createUnconnectedApp(registry = new Registry()): FastifyInstance {
  // A pool connects at its first query.
  const pool = new Pool();
  const reach = createReach({ allowPrivate: false, commands: [] }, {});
  return createApp({
    pool,
    readingPool: pool,
    heads: { isWatched: () => false, waitBeyond: unavailable, close: () => undefined },
    revisions: { onRaised: () => () => undefined },
    clock: () => new Date(0),
    keyLookups: createKeyLookups({ pool, clock: () => new Date(0) }),
    random: (size) => Buffer.alloc(size),
    defaults: { defaultPermission: 'allow', windowSeconds: 60 },
    needs: policyNeeds,
    catalogue: createCatalogue([]),
    reach,
    discover: createDiscover(reach),
    streamBounds,
    sealer: null,
    authorities: unavailable,
    notary: createNotary(newNotaryKey(), 90),
    dailyCap: 0,
    approvals: noApprovals,
    config: {
      publicUrl: null,
      operatorKey: 'operator-key-of-at-least-32-characters',
      patchPerMinute: 30,
      hookStatus: 'decision',
      traceUrl: null,
    },
    issuer: null,
    tls: null,
    links: { make: () => '', take: () => 'unknown' },
    consoleFolder: null,
    startRun: createStartRun({ start: unavailable }, { atOnce: 1, seats: createSeats({ each: 1 }) }),
    hooks: { enter: () => noPolicy, crowded: () => undefined, decided: () => undefined },
    inTrace: (_headers, work) => work(),
    log: pino({ level: 'silent' }),
    registry,
    readiness: () => [],
    warnings: () => [],
  });
}
