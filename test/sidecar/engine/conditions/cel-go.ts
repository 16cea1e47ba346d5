// Builds and runs the program of test/sidecar/engine/conditions/cel-go, which evaluates expressions with cel-go.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Said } from './differential.ts';
import type { GeneratedCase } from './generate.ts';

interface CelGo {
  /** Evaluates the cases, each with its own input. */
  evaluate(cases: readonly GeneratedCase[]): readonly Said[];
  close(): void;
}

const source = fileURLToPath(new URL('cel-go', import.meta.url));

/** Builds the program into a temporary folder. Needs Go. */
export function celGo(): CelGo {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cel-go-'));
  const program = join(folder, 'cel-go');
  execFileSync('go', ['build', '-mod=readonly', '-o', program, '.'], { cwd: source, stdio: 'inherit' });
  return {
    evaluate: (cases) => {
      const input = cases.map(({ expression, args }) => JSON.stringify({ expression, args })).join('\n');
      const output = execFileSync(program, { input, encoding: 'utf8', maxBuffer: 1024 ** 3 });
      return output.split('\n').slice(0, -1);
    },
    close: () => rmSync(folder, { recursive: true }),
  };
}
