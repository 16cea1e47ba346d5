// Stores profiles: each has a name, a control plane and a key. They are in one file that only its owner may read. The
// file is replaced as a whole, so a reader sees either the old or the new content.
import { chmod, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isRow } from './api/answer.ts';
import { Failure } from './failure.ts';
import { replaceFile } from './files.ts';
import type { World } from './world.ts';

/** How to connect to a control plane. In other folders of this project, "profile" means a registered agent. */
export interface Profile {
  readonly url: string;
  readonly key: string;
}

export interface Profiles {
  /** The name of the current profile; null: none. */
  readonly current: string | null;
  readonly named: ReadonlyMap<string, Profile>;
}

const nameForm = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

export function profilesPath({ env, home }: Pick<World, 'env' | 'home'>): string {
  const config = env['XDG_CONFIG_HOME'];
  return join(config === undefined || config === '' ? join(home, '.config') : config, 'tollgate', 'profiles.json');
}

export function checkProfileName(name: string): void {
  if (!nameForm.test(name))
    throw new Failure(
      `the name of a profile must have 1 to 64 characters, and only the characters A-Z a-z 0-9 . _ - are allowed, but the name is ${name}`,
    );
}

/**
 * Returns the profile with this name, or the current one if no name is given. Null when there is no current profile.
 */
export async function readProfile(
  world: Pick<World, 'env' | 'home'>,
  name: string | undefined,
): Promise<(Profile & { name: string }) | null> {
  const profiles = await readProfiles(world);
  const wanted = name ?? profiles.current;
  if (wanted === null) return null;
  return { name: wanted, ...requireProfile(profiles, wanted) };
}

export function requireProfile({ named }: Profiles, name: string): Profile {
  const profile = named.get(name);
  if (profile !== undefined) return profile;
  const known =
    named.size === 0 ? 'no profile exists yet; create one with tollgate profile add' : `the profiles are ${[...named.keys()].join(', ')}`;
  throw new Failure(`there is no profile ${name}: ${known}`);
}

export async function readProfiles(world: Pick<World, 'env' | 'home'>): Promise<Profiles> {
  const path = profilesPath(world);
  const file = await open(path, 'r').catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw new Failure(`${path} cannot be read`, [], error);
  });
  if (file === null) return { current: null, named: new Map() };
  try {
    // The mode is read from the open file. Otherwise the file could be replaced between the check and the reading.
    const { mode } = await file.stat();
    if ((mode & 0o077) !== 0) throw new Failure(`${path} contains keys and other users can read it; run: chmod 600 ${path}`);
    return parse(await file.readFile('utf8'), path);
  } finally {
    await file.close();
  }
}

export async function writeProfiles(world: Pick<World, 'env' | 'home'>, { current, named }: Profiles): Promise<void> {
  const path = profilesPath(world);
  const folder = dirname(path);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  await replaceFile(path, `${JSON.stringify({ current, profiles: Object.fromEntries(named) }, null, 2)}\n`, 0o600);
}

function parse(text: string, path: string): Profiles {
  const value = parseJson(text);
  if (!isRow(value) || !isRow(value['profiles'])) throw damaged(path);
  const named = new Map<string, Profile>();
  for (const [name, profile] of Object.entries(value['profiles'])) {
    if (!isRow(profile) || typeof profile['url'] !== 'string' || typeof profile['key'] !== 'string') throw damaged(path);
    named.set(name, { url: profile['url'], key: profile['key'] });
  }
  const current = value['current'];
  return { current: typeof current === 'string' && named.has(current) ? current : null, named };
}

// Returns null for invalid JSON. The parser's error is not used, because it would quote the file, which contains keys.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const damaged = (path: string): Failure => new Failure(`${path} has no valid content; remove it and add the profiles again`);

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
