import { Gauge, type Registry } from 'prom-client';
import { lifeOf } from '../x509/authorities.ts';
import type { MaintainedMaterial } from './material.ts';

/** Exports when the current material expires; without material there is no value. */
export const exportExpiry = (registry: Registry, maintained: Pick<MaintainedMaterial, 'current'>): Gauge<'certificate'> =>
  new Gauge({
    name: 'tollgate_certificate_expires_seconds',
    help: 'When the server certificate for sidecars expires, and the last of the authorities, in seconds since 1970',
    labelNames: ['certificate'],
    registers: [registry],
    collect() {
      const { current } = maintained;
      if (current === null) return;
      this.set({ certificate: 'server' }, lifeOf(current).until / 1_000);
      this.set({ certificate: 'authority' }, Math.max(...current.authorities.map((certificate) => lifeOf({ certificate }).until)) / 1_000);
    },
  });
