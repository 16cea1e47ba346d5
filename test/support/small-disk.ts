// File systems of 300 KB, for tests of a full disk. They need Linux and root; elsewhere such tests are skipped.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

function runs(program: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export const mountAt = (path: string): boolean => runs('mount', '-t', 'tmpfs', '-o', 'size=300k', 'tmpfs', path);
/** A process that still has it open loses it later. */
export const unmount = (path: string): boolean => runs('umount', '--lazy', path);

export function canMount(): boolean {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-mount-'));
  const can = process.getuid?.() === 0 && mountAt(path) && unmount(path);
  rmSync(path, { recursive: true, force: true });
  return can;
}
