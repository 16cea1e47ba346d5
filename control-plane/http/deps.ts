// The dependencies of the REST API.
import type { HookHost } from '@tollgate/sidecar/hooks';
import type { FastifyBaseLogger, FastifyReply } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from '../app/config.ts';
import type { SessionLinks } from '../access/operations/session-link.ts';
import type { Issuer } from '../access/rules/sign-in.ts';
import type { OperationDeps } from '../access/operation.ts';
import type { ServerCertificate } from '../base/secure-context.ts';
import type { StartRun } from '../runs/operations/start-run.ts';
import type { OpenStreams, StreamBounds } from './streams.ts';

export interface AppDeps extends OperationDeps {
  /** The certificate with which REST begins. Null: REST has no TLS of its own. */
  readonly tls: ServerCertificate | null;
  readonly streamBounds: StreamBounds;
  readonly config: Pick<Config, 'operatorKey' | 'patchPerMinute' | 'publicUrl' | 'hookStatus' | 'traceUrl'>;
  /** The issuer with which members sign in; null while none is configured. */
  readonly issuer: Issuer | null;
  /** The one-time link of the start. */
  readonly links: SessionLinks;
  /** The folder of the built console. It may not exist. Null: the console is not installed. */
  readonly consoleFolder: string | null;
  readonly startRun: StartRun;
  /** Answers hook requests. */
  readonly hooks: HookHost;
  /** When telemetry is on, runs the work as part of the trace that the request headers name. */
  readonly inTrace: <T>(headers: Readonly<Record<string, unknown>>, work: () => T) => T;
  readonly log: FastifyBaseLogger;
  readonly registry: Registry;
  /** The reasons why this process cannot serve requests; empty when it can. */
  readonly readiness: () => readonly string[];
  /** Problems that the operator should look at, although the process can serve requests. */
  readonly warnings: () => readonly string[];
}

/** Additional dependencies of the routes that stream their answer. All these routes share one instance. */
export interface StreamDeps extends AppDeps {
  readonly streams: OpenStreams;
  /** Counts an answer that broke off after its first byte. */
  readonly countBroken: (reply: FastifyReply) => void;
}
