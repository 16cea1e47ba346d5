// Exports when the certificate expires that a sidecar presents to its control plane. Absent if it presents none.
import { Gauge, type Registry } from 'prom-client';
import type { Sidecar } from '../../doors/sidecar.ts';

export function exportCertificate(registry: Registry, { linkCredentials }: Pick<Sidecar, 'linkCredentials'>): Gauge<'certificate'> | null {
  if (linkCredentials === null) return null;
  return new Gauge({
    name: 'tollgate_certificate_expires_seconds',
    help: 'When a certificate expires, in seconds since 1970',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      const { expiresAt } = linkCredentials;
      if (expiresAt !== null) this.set({ certificate: 'client' }, expiresAt / 1000);
    },
  });
}
