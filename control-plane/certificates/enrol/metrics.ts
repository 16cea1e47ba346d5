import type { ErrorCode } from '@tollgate/proto/contract';
import { Counter, type Registry } from 'prom-client';
import type { CertifiedPeer } from '../../access/rules/certified.ts';

export interface EnrolMetrics {
  issued(by: CertifiedPeer['kind']): void;
  refused(code: ErrorCode): void;
}

export function createEnrolMetrics(registry: Registry): EnrolMetrics {
  const issued = new Counter({
    name: 'tollgate_certificates_issued_total',
    help: 'Certificates that were issued to sidecars, by credential: a key, or the token of a pod',
    labelNames: ['by'],
    registers: [registry],
  });
  const refused = new Counter({
    name: 'tollgate_certificates_refused_total',
    help: 'Certificate requests that were refused, by the code of the refusal',
    labelNames: ['code'],
    registers: [registry],
  });
  return { issued: (by) => issued.inc({ by }), refused: (code) => refused.inc({ code }) };
}
