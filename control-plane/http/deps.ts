// What the REST surface is built from.
import type { HookHost } from '@tollgate/sidecar/hooks';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { Issuer } from '../domain/access/sign-in.ts';
import type { Deps } from '../operations/operation.ts';
import type { StartRun } from '../operations/runs/start-run.ts';
import type { OpenStreams, StreamBounds } from './streams.ts';

export interface AppDeps extends Deps {
  readonly streamBounds: StreamBounds;
  readonly config: Pick<Config, 'operatorKey' | 'patchPerMinute' | 'publicUrl' | 'hookStatus'>;
  /** Where members may sign in; null while none is configured. */
  readonly issuer: Issuer | null;
  readonly startRun: StartRun;
  /** Who answers hooks. */
  readonly hooks: HookHost;
  /** Does the work as part of the trace that the headers of a request name, where there is telemetry. */
  readonly inTrace: <T>(headers: Readonly<Record<string, unknown>>, work: () => T) => T;
  readonly log: FastifyBaseLogger;
  readonly registry: Registry;
  /** Why this process cannot serve; empty when it can. */
  readonly readiness: () => readonly string[];
  /** What somebody should see to, though it can serve. */
  readonly warnings: () => readonly string[];
}

/** What the routes of answers that go on need besides, one for them all. */
export interface StreamDeps extends AppDeps {
  readonly streams: OpenStreams;
  /** Counts an answer that broke off after its beginning. */
  readonly countBroken: (reply: FastifyReply) => void;
}
