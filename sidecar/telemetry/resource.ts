// Identifies the process that sends telemetry. The environment (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`) takes
// precedence over what a process knows of itself.
import { defaultResource, detectResources, envDetector, type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { readVersion } from '../base/version.ts';

export interface Identity {
  readonly service: string;
  /** Distinguishes this process from all other running instances. */
  readonly instance: string;
}

export const createResource = ({ service, instance }: Identity): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ 'service.name': service, 'service.version': readVersion(), 'service.instance.id': instance }))
    .merge(detectResources({ detectors: [envDetector] }));
