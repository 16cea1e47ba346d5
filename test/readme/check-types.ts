// Compiles a TypeScript program of a page: its parts so far are written to the file that the page names, and compiled as
// a user's program is, against the published types of the packages. A block of shell commands runs it. Called by
// `run-blocks.ts`.
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Outcome, ShellConfig } from './shell.ts';

const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

const strict =
  '--noEmit --ignoreConfig --strict --exactOptionalPropertyTypes --skipLibCheck --module nodenext --target es2023 --types node';

/** `parts` in the order of the page; the file has their lines at the line numbers of the page. */
export async function checkTypes(
  parts: readonly { readonly line: number; readonly text: string }[],
  file: string,
  { folder, env, limitMs }: ShellConfig,
): Promise<Outcome> {
  const lines: string[] = [];
  for (const { line, text } of parts) {
    while (lines.length < line - 1) lines.push('');
    lines.push(...text.split('\n'));
  }
  writeFileSync(join(folder, file), `${lines.join('\n')}\n`);
  const args = [...strict.split(' '), '--typeRoots', join(modules, '@types'), file];
  return new Promise((resolve) => {
    execFile(join(modules, '.bin/tsc'), args, { cwd: folder, env, timeout: limitMs }, (error, stdout, stderr) =>
      resolve({ problem: error === null ? null : `${file} does not compile`, output: `${stdout}${stderr}` }),
    );
  });
}
