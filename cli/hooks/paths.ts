// Builds paths in the format of a given platform. The functions are pure, so tests can use platforms on which they do
// not run.
import { posix, win32 } from 'node:path';

export interface OnPlatform {
  /** Absent: the platform of this process. */
  readonly platform?: NodeJS.Platform;
}

export const platformOf = ({ platform = process.platform }: OnPlatform): NodeJS.Platform => platform;

export const pathsOf = (on: OnPlatform): typeof posix => (platformOf(on) === 'win32' ? win32 : posix);

/** Returns the paths where a program with one of these names may be, in the search order of a shell. */
export function programPaths(
  names: readonly string[],
  on: OnPlatform & { readonly env: Readonly<Record<string, string | undefined>> },
): readonly string[] {
  const path = pathsOf(on);
  const endings = platformOf(on) === 'win32' ? (on.env['PATHEXT'] ?? '.COM;.EXE;.BAT;.CMD').toLowerCase().split(';') : [''];
  return (on.env['PATH'] ?? on.env['Path'] ?? '')
    .split(path.delimiter)
    .filter((folder) => folder !== '')
    .flatMap((folder) => names.flatMap((name) => endings.map((ending) => path.join(folder, name + ending))));
}
