// Builds the REST API and listens. When the program stops, requests and runs that callers have started can finish.
import type { Issuer } from '../access/rules/sign-in.ts';
import type { Undo } from '../base/undo.ts';
import { createApp } from '../http/app.ts';
import { watchConnections } from '../http/connections.ts';
import { callbackPath } from '../http/cookies.ts';
import type { AppDeps } from '../http/deps.ts';
import { streamBounds } from '../http/streams.ts';
import type { Runner } from '../runs/runner.ts';
import { explainTaken } from './address-taken.ts';
import type { Config } from './config.ts';
import { drain } from './drain.ts';

interface HttpDeps extends Omit<AppDeps, 'config' | 'issuer' | 'streamBounds'> {
  readonly config: Config;
  readonly runner: Runner;
}

/** Returns the address of the REST API. Rejects with `AddressTaken` if another program has the port. */
export async function wireHttp({ runner, ...deps }: HttpDeps, undo: Undo): Promise<string> {
  const { config } = deps;
  const app = createApp({ ...deps, streamBounds, issuer: await issuerOf(config) });
  const connections = watchConnections(app.server);
  undo.push(() => drain({ app, connections, runner }, config.drainMs));
  return app.listen({ host: config.host, port: config.port }).catch(explainTaken(config.host, config.port, 'TOLLGATE_PORT'));
}

/** Null: sign-in is not configured. */
async function issuerOf({ publicUrl, oidcIssuer, oidcClientId, oidcClientSecret }: Config): Promise<Issuer | null> {
  if (publicUrl === null || oidcIssuer === null || oidcClientId === null) return null;
  const { createIssuer } = await import('../access/issuer.ts');
  const redirectUri = new URL(callbackPath, publicUrl).href;
  return createIssuer({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, redirectUri });
}
