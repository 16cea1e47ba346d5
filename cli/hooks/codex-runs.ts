// Finds out why Codex would not run our hooks although its settings contain them: Codex asks its user to trust each
// hook first.
import { isRow, type Row } from '../api/answer.ts';
import { askCodex } from './codex-app-server.ts';
import { type Trust, stateKey, trustOf } from './codex-trust.ts';
import { isOurs } from './handler.ts';
import type { Scope } from './host.ts';
import { hostSettings } from './host-settings.ts';
import { findProgram } from './host-version.ts';
import { namesOf } from './installation.ts';
import { pathsOf } from './paths.ts';
import type { Here } from './records.ts';
import { readSettings } from './settings-file.ts';
import { type Place, placesIn, statesIn } from './hook-places.ts';
import { parseToml } from './edit-toml.ts';

interface Hooks {
  readonly scope: Scope;
  readonly path: string;
  /** The text of the file at `path`. */
  readonly text: string;
}

/** Returns the reasons in words, each with what to do; empty: Codex runs the hooks. */
export async function whyCodexSkips(here: Here, { scope, path, text }: Hooks): Promise<readonly string[]> {
  const ours = placesIn(parseToml(text)).filter(({ handler }) => isOurs('codex', handler));
  const names = await namesOf(path);
  const program = await findProgram(here, hostSettings.codex.programs);
  const said = program === null ? null : await askCodex({ program, env: here.env, cwd: here.cwd });
  if (said !== null) return words(ours.map((place) => [place, names.map((name) => said.get(stateKey(name, place))).find(isKnown) ?? null]));
  const user = parseToml((await readSettings(hostSettings.codex.file('user', here, here.cwd))) ?? '');
  const isRead = scope === 'user' || isTrustedFolder(here, user);
  return words(ours.map((place) => [place, isRead ? trustOf(statesIn(user), names, place) : null]));
}

const isKnown = (trust: Trust | undefined): boolean => trust !== undefined;

/** Null: Codex does not read the file. */
function words(found: readonly (readonly [Place, Trust | null])[]): readonly string[] {
  const all = found.flatMap(([{ event }, trust]) => {
    switch (trust) {
      case 'trusted':
        return [];
      case 'untrusted':
        return [`Codex has not trusted this hook yet (${event}): open /hooks in Codex and trust it`];
      case 'changed':
        return [`Codex has trusted an earlier form of this hook (${event}): open /hooks in Codex and trust the present form`];
      case 'disabled':
        return [`this hook is disabled in Codex (${event}): open /hooks in Codex and enable it`];
      case null:
        return ['Codex does not read the settings of this folder: start Codex here and trust the folder'];
    }
  });
  return [...new Set(all)];
}

/** Whether Codex trusts the folder or a parent of it. */
function isTrustedFolder(here: Here, user: Row): boolean {
  const path = pathsOf(here);
  const projects = isRow(user['projects']) ? Object.entries(user['projects']) : [];
  return projects.some(([folder, project]) => {
    const below = path.relative(folder, here.cwd);
    return isRow(project) && project['trust_level'] === 'trusted' && !below.startsWith('..') && !path.isAbsolute(below);
  });
}
