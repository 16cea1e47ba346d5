// Checks that README's tables of variables match the schemas. `--write` updates the tables.
import { readFileSync, writeFileSync } from 'node:fs';
import { configTable } from '@tollgate/proto/contract';
import { configSchema } from '../control-plane/app/config.ts';
import { sidecarSchema } from '../sidecar/app/config.ts';

const readme = readFileSync('README.md', 'utf8');
const wanted = [
  ['control-plane', configTable(configSchema)],
  ['sidecar', configTable(sidecarSchema)],
].reduce(
  (text, [name, table]) =>
    text.replace(new RegExp(`(<!-- variables: ${name} -->\n)[\\s\\S]*?(<!-- end -->)`), (_all, head, tail) => `${head}${table}\n${tail}`),
  readme,
);
if (process.argv.includes('--write')) writeFileSync('README.md', wanted);
else if (wanted !== readme) {
  process.stderr.write('README.md lists other variables than the schemas; run: npm run readme\n');
  process.exit(1);
}
