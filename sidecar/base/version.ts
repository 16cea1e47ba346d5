// Reads the version of this release from its package.
import { createRequire } from 'node:module';

export function readVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)('@tollgate/sidecar/package.json');
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
}
