// Builds the REST API and listens. When the program stops, requests and runs that callers have started can finish.
import { isLoopback } from '@tollgate/proto/contract';
import { createSessionLinks, type SessionLinks } from '../access/operations/session-link.ts';
import type { Issuer } from '../access/rules/sign-in.ts';
import type { Undo } from '../base/undo.ts';
import type { MaintainedMaterial } from '../certificates/tls/material.ts';
import { createApp } from '../http/app.ts';
import { consoleFolder, isConsoleBuilt } from '../http/console.ts';
import { watchConnections } from '../http/connections.ts';
import { callbackPath } from '../http/cookies.ts';
import type { AppDeps } from '../http/deps.ts';
import { streamBounds } from '../http/streams.ts';
import { useCertificate } from '../http/tls.ts';
import type { Runner } from '../runs/runner.ts';
import { explainTaken } from './address-taken.ts';
import type { Config } from './config.ts';
import { drain } from './drain.ts';

interface HttpDeps extends Omit<AppDeps, 'config' | 'issuer' | 'streamBounds' | 'links' | 'consoleFolder' | 'tls'> {
  /** The certificate of REST. Null: REST has no TLS of its own. */
  readonly tls: MaintainedMaterial | null;
  readonly config: Config;
  readonly runner: Runner;
}

/** Listens. `link` opens the console, once; null: there is none. Rejects with `AddressTaken` if another program has the port. */
export async function wireHttp(
  { runner, tls, ...deps }: HttpDeps,
  undo: Undo,
): Promise<{ readonly rest: string; readonly link: string | null }> {
  const { config } = deps;
  const links = createSessionLinks(deps);
  const folder = consoleFolder();
  const app = createApp({ ...deps, tls: tls?.current ?? null, links, consoleFolder: folder, streamBounds, issuer: await issuerOf(config) });
  const connections = watchConnections(app.server);
  if (tls !== null) undo.push(tls.onChange((renewed) => useCertificate(app.server, renewed)));
  undo.push(() => drain({ app, connections, runner }, config.drainMs));
  // For `localhost`, Fastify makes a second server, which would keep its first certificate.
  const host = tls !== null && config.host === 'localhost' ? '127.0.0.1' : config.host;
  const rest = await app.listen({ host, port: config.port }).catch(explainTaken(config.host, config.port, 'TOLLGATE_PORT'));
  return { rest, link: isConsoleBuilt(folder) ? linkOf(config, rest, links) : null };
}

/**
 * Returns a link that opens the console. Null where no person reads it first: standard output is not a terminal, or
 * the link would lead to another machine. A certificate of REST is for another name than that of the link.
 */
function linkOf({ host, publicUrl, restTlsDir }: Config, rest: string, links: SessionLinks): string | null {
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  if (!process.stdout.isTTY || !isHere || restTlsDir !== null || publicUrl?.startsWith('https:') === true) return null;
  return `http://${host === '::1' ? '[::1]' : '127.0.0.1'}:${new URL(rest).port}/console/#link=${links.make()}`;
}

/** Null: sign-in is not configured. */
async function issuerOf({ publicUrl, oidcIssuer, oidcClientId, oidcClientSecret }: Config): Promise<Issuer | null> {
  if (publicUrl === null || oidcIssuer === null || oidcClientId === null) return null;
  const { createIssuer } = await import('../access/issuer.ts');
  const redirectUri = new URL(callbackPath, publicUrl).href;
  return createIssuer({ issuer: oidcIssuer, clientId: oidcClientId, clientSecret: oidcClientSecret, redirectUri });
}
