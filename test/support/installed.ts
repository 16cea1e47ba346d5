// Checks which other programs are installed. A test that needs a missing one is skipped, and names it: `npm test` lists
// them at its end (missing-programs.ts). In a full check a skipped test counts as a failure (.ci/run).
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { debianPostgresFolder } from './debian-postgres.ts';

export interface Program {
  /** The package of Debian 12. */
  readonly package?: string;
  /** The script that installs it, where Debian has no package of it. */
  readonly script?: string;
  /** Its path, if it is not on PATH. */
  readonly path?: string;
}

export const envoyPath = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-bench', 'envoy');

// It is only on root's PATH.
export const nginxPath = '/usr/sbin/nginx';

export const chromiumPath = '/usr/bin/chromium-headless-shell';

export const programs = {
  chromium: { package: 'chromium-headless-shell', path: chromiumPath },
  envoy: { script: 'test/support/install-envoy', path: envoyPath },
  fish: { package: 'fish' },
  nginx: { package: 'nginx-light', path: nginxPath },
  openssl: { package: 'openssl' },
  pg_dump: { package: 'postgresql-15', path: join(debianPostgresFolder, 'pg_dump') },
  prlimit: { package: 'util-linux' },
  prometheus: { package: 'prometheus' },
  promtool: { package: 'prometheus' },
  python3: { package: 'python3' },
  unshare: { package: 'util-linux' },
  zsh: { package: 'zsh' },
} as const satisfies Readonly<Record<string, Program>>;

export type ProgramName = keyof typeof programs;

declare module 'vitest' {
  interface TaskMeta {
    /** The test is skipped because this program is missing. */
    missingProgram?: ProgramName;
  }
}

const isInstalled = (name: ProgramName): boolean => {
  const program: Program = programs[name];
  // openssl has no --version, so any answer is enough.
  return spawnSync(program.path ?? name, ['--version']).error === undefined;
};

/** The options of a test, or of a group of tests, that starts this program. */
export const needs = (program: ProgramName) => (isInstalled(program) ? {} : { skip: true, meta: { missingProgram: program } });
