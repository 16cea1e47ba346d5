#!/usr/bin/env node
// Stands here, and not in dist, so that npm can link it before anything is built.
import { existsSync } from 'node:fs';

const main = new URL('./dist/main.js', import.meta.url);
if (!existsSync(main)) {
  process.stderr.write('tollgate-sidecar is not built yet; run: npm run build\n');
  process.exit(1);
}
await import(main.href);
