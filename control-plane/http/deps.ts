// What the REST surface is built from.
import type { FastifyBaseLogger } from 'fastify';
import type { Registry } from 'prom-client';
import type { Config } from '../config.ts';
import type { Issuer } from '../domain/access/sign-in.ts';
import type { Deps } from '../operations/operation.ts';

export interface AppDeps extends Deps {
  readonly config: Pick<Config, 'operatorKey' | 'patchPerMinute' | 'publicUrl'>;
  /** Where members may sign in; null while none is configured. */
  readonly issuer: Issuer | null;
  readonly log: FastifyBaseLogger;
  readonly registry: Registry;
  /** Why this process cannot serve; empty when it can. */
  readonly readiness: () => readonly string[];
}
