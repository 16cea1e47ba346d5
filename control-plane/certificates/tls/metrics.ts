import { Gauge, type Registry } from 'prom-client';
import { lifeOf } from '../x509/authorities.ts';
import type { MaintainedMaterial } from './material.ts';

/** Null: there is no such certificate. */
interface Certificates {
  readonly server: Pick<MaintainedMaterial, 'current' | 'failure'> | null;
  readonly rest: Pick<MaintainedMaterial, 'current' | 'failure'> | null;
}

/** Exports when the current certificates expire, and whether they can be renewed; without a certificate there is no value. */
export const exportCertificates = (registry: Registry, { server, rest }: Certificates): readonly Gauge<'certificate'>[] => [
  new Gauge({
    name: 'tollgate_certificate_expires_seconds',
    help: 'When the server certificate for sidecars expires, the last of the authorities, and the certificate of REST, in seconds since 1970',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      const { current = null } = server ?? {};
      if (current !== null) {
        this.set({ certificate: 'server' }, lifeOf(current).until / 1_000);
        this.set(
          { certificate: 'authority' },
          Math.max(...current.authorities.map((certificate) => lifeOf({ certificate }).until)) / 1_000,
        );
      }
      if (rest !== null && rest.current !== null) this.set({ certificate: 'rest' }, lifeOf(rest.current).until / 1_000);
    },
  }),
  new Gauge({
    name: 'tollgate_certificate_renewal_failed',
    help: '1 while a certificate cannot be checked or renewed, and the one from before is used',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      if (server !== null) this.set({ certificate: 'server' }, Number(server.failure !== null));
      if (rest !== null) this.set({ certificate: 'rest' }, Number(rest.failure !== null));
    },
  }),
];
