// Which other programs are here. A test that needs one is skipped where it is missing, and says which it was: `npm test` lists
// them at its end (missing-programs.ts). Where everything is checked a skipped test counts as a failure (.ci/run).
import { spawnSync } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { debianPostgresFolder } from './debian-postgres.ts';

export interface Program {
  /** Of Debian 12. */
  readonly package?: string;
  /** Installs it, where it is no package of Debian. */
  readonly script?: string;
  /** Where it lies, if not on the path. */
  readonly path?: string;
}

export const envoyPath = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'tollgate-bench', 'envoy');

// On the path of root only.
export const nginxPath = '/usr/sbin/nginx';

export const programs = {
  envoy: { script: 'test/support/install-envoy', path: envoyPath },
  fish: { package: 'fish' },
  nginx: { package: 'nginx-light', path: nginxPath },
  openssl: { package: 'openssl' },
  pg_dump: { package: 'postgresql-15', path: join(debianPostgresFolder, 'pg_dump') },
  prlimit: { package: 'util-linux' },
  prometheus: { package: 'prometheus' },
  promtool: { package: 'prometheus' },
  zsh: { package: 'zsh' },
} as const satisfies Readonly<Record<string, Program>>;

export type ProgramName = keyof typeof programs;

declare module 'vitest' {
  interface TaskMeta {
    /** It is skipped because this program is not here. */
    missingProgram?: ProgramName;
  }
}

const isInstalled = (name: ProgramName): boolean => {
  const program: Program = programs[name];
  // openssl has no --version, so any answer will do.
  return spawnSync(program.path ?? name, ['--version']).error === undefined;
};

/** The options of a test, or of a group of tests, that starts this program. */
export const needs = (program: ProgramName) => (isInstalled(program) ? {} : { skip: true, meta: { missingProgram: program } });
