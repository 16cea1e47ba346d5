// The enrolment listener of a control plane. It listens after the first certificate is available. A new certificate
// replaces the old one without a restart.
import { loggable } from '../../base/loggable.ts';
import type { HttpsServer } from '../https-server.ts';
import type { MaintainedMaterial } from '../tls/material.ts';
import { type EnrolDeps, startEnrolServer } from './server.ts';

export interface EnrolListener {
  /** Null: there is no certificate, and the listener does not listen yet. */
  readonly port: number | null;
  close(ms: number): Promise<void>;
}

/** Rejects when the port is in use. */
export async function startEnrolListener(
  deps: EnrolDeps,
  maintained: MaintainedMaterial,
  listen: { readonly host: string; readonly port: number },
): Promise<EnrolListener> {
  let server: HttpsServer | null = null;
  let starting: Promise<void> = Promise.resolve();
  const start = async (): Promise<void> => {
    const { current } = maintained;
    if (server !== null || current === null) return;
    server = await startEnrolServer(deps, listen, current);
  };
  await start();
  const forget = maintained.onChange((material) => {
    if (server !== null) return server.use(material);
    starting = starting
      .then(start)
      .catch((error: unknown) => deps.log.error(loggable(error), 'the enrolment server could not listen on its port'));
  });
  return {
    get port() {
      return server?.port ?? null;
    },
    close: async (ms) => {
      forget();
      await starting;
      await server?.close(ms);
    },
  };
}
